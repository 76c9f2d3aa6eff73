"""Vocabularies of Marian's folders: SentencePiece models, lists of pieces or words, and ids of openwork's tokenizers.

With the first two Marian reads text. It cannot run openwork's own tokenizers: their ids are its words then, which
`openwork tokenize --ids` writes and `openwork tokenize --decode` reads; the tokenizers are in the folder.
"""

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers

from openwork.base.errors import ConfigError
from openwork.base.outputs import EXPORT, TOKENIZERS
from openwork.base.symbols import SYMBOL_IDS
from openwork.interop.marian.archive import yaml_object, yaml_text
from openwork.interop.vocabulary import Vocabulary
from openwork.text.external import ExternalTokenizer
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer, read_bounded
from openwork.text.external.marian import END, UNKNOWN, MarianTokenizer, checked_pieces, not_a_vocabulary
from openwork.text.external.sentence_piece import SentencePieceTokenizer, read_sentence_piece
from openwork.text.forms import unwrapped
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import SYMBOL_NAMES, Tokenizer

SIDES = ("source", "target")
PIECES = "{}.spm"  # beside a list of pieces: what cuts a text into them


def read_vocabularies(folder: Path, paths: tuple[Path, Path], sizes: tuple[int, int]) -> TokenizerPair:
    """The tokenizers of both sides; DataError for files that hold none. `sizes`: ids that the model has for each."""
    if EXPORT.is_at(folder) and any((folder / name).is_file() for name in TOKENIZERS):
        return TokenizerPair.load(folder)
    files = zip(paths, sizes, (folder / PIECES.format(side) for side in SIDES), strict=True)
    return TokenizerPair(*(AdaptedTokenizer(_read(*each)) for each in files))


def _read(path: Path, size: int, pieces: Path) -> ExternalTokenizer:
    """Of one side: SentencePiece's own ids, or its pieces by a list, or what spaces separate by a list.

    Of a list with more than `size` pieces Marian takes the first ones.
    """
    if path.suffix == ".spm":
        return read_sentence_piece(path)
    try:
        listed = yaml_object(read_bounded(path))
        ids = checked_pieces({name: number for name, text in listed.items() if (number := int(text)) < size})
    except (ValueError, TypeError) as error:
        raise not_a_vocabulary(path, str(error)) from error
    if pieces.is_file():
        return MarianTokenizer(read_sentence_piece(pieces), ids)
    library = LibraryTokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.add_special_tokens([END, UNKNOWN])
    return HuggingFaceTokenizer(library)


def own_external(tokenizer: Tokenizer) -> ExternalTokenizer | None:
    """The tokenizer from a file that Marian can run too, which has ids of its own there; None for any other."""
    inner = unwrapped(tokenizer)
    external = inner.external if isinstance(inner, AdaptedTokenizer) else None
    is_list = isinstance(external, HuggingFaceTokenizer) and _is_list_of_words(external.library)
    return external if is_list or isinstance(external, SentencePieceTokenizer | MarianTokenizer) else None


def _is_list_of_words(library: LibraryTokenizer) -> bool:
    cuts_at_spaces = isinstance(library.pre_tokenizer, pre_tokenizers.WhitespaceSplit) and library.normalizer is None
    return cuts_at_spaces and isinstance(library.model, models.WordLevel) and {END, UNKNOWN} <= {*library.get_vocab()}


def runs_tokenizers(pair: TokenizerPair) -> bool:
    """Whether Marian can run those of both sides, and so reads and writes text."""
    return all(own_external(tokenizer) is not None for tokenizer in (pair.source, pair.target))


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Marian's ids of a tokenizer's pieces. Nothing is padding or a start there, whatever its file calls so."""
    external, inner = own_external(tokenizer), unwrapped(tokenizer)
    if external is None:
        others = range(2, tokenizer.vocabulary_size - len(SYMBOL_NAMES) + 2)
        return Vocabulary((None, 1, None, 0, *others))
    assert isinstance(inner, AdaptedTokenizer)
    _, unknown, _, end, *others = inner.theirs
    return Vocabulary((None, unknown, None, end, *others), external.vocabulary_size)


def write_vocabularies(folder: Path, pair: TokenizerPair) -> list[str]:
    """Writes the files of both sides and returns their names, as decoder.yml lists them.

    ConfigError for a SentencePiece model without an end symbol, which Marian needs.
    """
    tokenizers = {"": pair.source} if pair.shared else dict(zip(SIDES, (pair.source, pair.target), strict=True))
    if not runs_tokenizers(pair):
        pair.save(folder)
    names = [_write(folder, side, tokenizer) for side, tokenizer in tokenizers.items()]
    return names * (3 - len(names))


def _write(folder: Path, side: str, tokenizer: Tokenizer) -> str:
    external, name = own_external(tokenizer), f"{side}.vocab".removeprefix(".")
    if external is not None and external.marks.end is None:
        raise ConfigError(
            "Marian cannot use this bundle's tokenizer",
            why="it has no symbol for the end of a text",
            hint="use the bundle with openwork translate",
            code="C167",
        )
    if isinstance(external, SentencePieceTokenizer):
        (folder / f"{name}.spm").write_bytes(external.data)
        return f"{name}.spm"
    if isinstance(external, MarianTokenizer):
        for one in [side] if side else SIDES:
            (folder / PIECES.format(one)).write_bytes(external.pieces.data)
        listed: Mapping[str, int] = external.ids
    elif isinstance(external, HuggingFaceTokenizer):
        listed = external.library.get_vocab()
    else:
        of_ids = vocabulary_of(tokenizer).external
        listed = {str(own): number for own, number in enumerate(of_ids) if number is not None}
        listed = {END: listed.pop(str(SYMBOL_IDS.end)), UNKNOWN: listed.pop(str(SYMBOL_IDS.unknown)), **listed}
    (folder / f"{name}.yml").write_text(yaml_text(dict(sorted(listed.items(), key=itemgetter(1)))), encoding="utf-8")
    return f"{name}.yml"
