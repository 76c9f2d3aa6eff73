"""Searches in which every token may come, as in CTranslate2, which may produce <unk> and <s> as well."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from pytest import MonkeyPatch
from torch.nn.utils.rnn import pad_sequence

from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding import scoring
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.interop.ctranslate2.reading import CTranslate2Model


@contextmanager
def nothing_forbidden() -> Iterator[None]:
    """While the block runs, no symbol is forbidden."""
    scoring._forbidding.cache_clear()
    try:
        with MonkeyPatch.context() as patch:
            patch.setattr(SymbolIds, "forbidden", ())
            yield
    finally:
        scoring._forbidding.cache_clear()


def translate(
    model: CTranslate2Model, sources: Sequence[Sequence[str]], decoding: DecodingSettings
) -> list[list[Hypothesis]]:
    """The best targets of each source, given as tokens; `target.decode` makes tokens of them.

    The same as CTranslate2's with `length_penalty=A, min_decoding_length=0, max_decoding_length=N` needs
    `length_penalty = A, length_rule = "power", unfinished = "ranked", maximum_length = N` and an `extra_length`
    above N; where A is 0, also `stopping = "no-better"`.
    """
    if not sources:
        return []
    ids = [model.source_ids(tokens) for tokens in sources]
    lengths = torch.tensor([len(row) for row in ids])
    rows = [torch.tensor(row, dtype=torch.int64) for row in ids]
    padded = pad_sequence(rows, batch_first=True, padding_value=SYMBOL_IDS.pad)
    with torch.inference_mode(), nothing_forbidden():
        return decode(model.model, padded, lengths, decoding)
