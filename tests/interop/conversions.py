"""Ids and tokens of other toolkits as openwork's and back, and CTranslate2's search, for models without tokenizers.

Bundles have tokenizers and need none of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from pytest import MonkeyPatch

from openwork.base.folders import atomic_folder
from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding import scoring
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.interop.ctranslate2.reading import CTranslate2Model
from openwork.interop.ctranslate2.vocabulary import Tokens
from openwork.interop.hugging_face.bart import write_model_files
from openwork.interop.vocabulary import Vocabulary
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel


@contextmanager
def nothing_forbidden() -> Iterator[None]:
    """While the block runs, no symbol is forbidden."""
    scoring.forbidding.cache_clear()
    try:
        with MonkeyPatch.context() as patch:
            patch.setattr(SymbolIds, "forbidden", ())
            yield
    finally:
        scoring.forbidding.cache_clear()


def to_own(vocabulary: Vocabulary, ids: Iterable[int]) -> list[int]:
    """External ids as openwork's."""
    return [vocabulary.own[number] for number in ids]


def to_external(vocabulary: Vocabulary, ids: Iterable[int]) -> list[int]:
    """openwork's ids as external ones; a symbol that the toolkit lacks is left out."""
    return [external for number in ids if (external := vocabulary.external[number]) is not None]


def encoded(tokens: Tokens, names: Iterable[str]) -> list[int]:
    """openwork's ids of CTranslate2's tokens; a list may hold a name twice, and its first place counts."""
    first = {name: place for place, name in reversed(list(enumerate(tokens.names)))}
    ids = {name: tokens.vocabulary.own[place] for name, place in first.items() if place in tokens.vocabulary.own}
    return [ids.get(name, SYMBOL_IDS.unknown) for name in names]


def decoded(tokens: Tokens, ids: Iterable[int]) -> list[str]:
    """The tokens of openwork's ids."""
    return [tokens.names[number] for number in to_external(tokens.vocabulary, ids)]


def source_ids(read: CTranslate2Model, names: Sequence[str]) -> list[int]:
    """openwork's ids of a source's tokens, with the symbols around them."""
    return encoded(read.source, [*read.conventions.before, *names, *read.conventions.after])


def translate(
    read: CTranslate2Model, sources: Sequence[Sequence[str]], decoding: DecodingSettings
) -> list[list[Hypothesis]]:
    """The best targets of each source, given as tokens."""
    rows = [source_ids(read, names) for names in sources]
    lengths = torch.tensor([len(row) for row in rows])
    padded = torch.tensor([row + [SYMBOL_IDS.pad] * (int(lengths.max()) - len(row)) for row in rows])
    with torch.inference_mode(), nothing_forbidden():
        return decode(read.model, padded, lengths, decoding)


def write_hugging_face(
    folder: Path, settings: ModelSettings, model: SequenceModel, decoding: DecodingSettings | None = None
) -> None:
    """The model without tokenizers."""
    with atomic_folder(folder) as partial:
        write_model_files(partial, settings, model, decoding or DecodingSettings())
