"""One small interface over the `tokenizers` library: text to ids and back, without losing a character.

The text is cut into words (`SPLIT`), each word into learnt pieces; a character that has no piece becomes the bytes of
its UTF-8 form. Real spaces stay inside the pieces (" the"), so decoding is concatenation and nothing else.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Self

from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import BundleError, DataError
from openwork.base.files import atomic_write_text

# Words take the space before them, letters and marks stay together, digits stand alone. A "<" always ends its word, so
# no learnt piece can continue after it: text cannot forge "<s>" or "<0xE6>".
SPLIT = r" ?[\p{L}\p{M}]+| ?\p{N}| ?<| ?[^\s\p{L}\p{M}\p{N}<]+|\s+(?!\S)|\s+"

# A child made by fork must not use the library's threads, which exist only in its parent; the library says so with a
# warning unless this variable decides.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: os.environ.setdefault("TOKENIZERS_PARALLELISM", "false"))


@dataclass(frozen=True)
class Symbols:
    """The names of the four symbols; their ids are 0 to 3 in this order."""

    pad: str = "<pad>"
    unknown: str = "<unk>"
    start: str = "<s>"
    end: str = "</s>"


SYMBOLS = Symbols()
SYMBOL_NAMES: tuple[str, ...] = astuple(SYMBOLS)
BYTE_NAMES: tuple[str, ...] = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIXED_NAMES: tuple[str, ...] = SYMBOL_NAMES + BYTE_NAMES
"""What every vocabulary starts with: the symbols, then one piece a byte."""


@dataclass(frozen=True)
class Pieces:
    """How a text was split: for each piece its id, its name and its (begin, end) in characters of the text.

    The bytes of one character all carry the span of that character.
    """

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


class Tokenizer:
    """Byte-pair pieces with bytes for what has no piece; `decode(encode(text)) == text` for every text.

    The only texts refused (`DataError`) are those with lone surrogates, which are not Unicode text.
    """

    pad_id = 0
    unknown_id = 1
    start_id = 2
    end_id = 3
    symbols = SYMBOLS

    def __init__(self, library: LibraryTokenizer) -> None:
        self._library = library
        self.vocabulary_size: int = library.get_vocab_size()
        self.fingerprint: str = hashlib.sha256(library.to_str().encode()).hexdigest()[:16]

    @classmethod
    def from_merges(cls, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Self:
        """The tokenizer with these pieces; ids 0 to 259 must be `FIXED_NAMES`."""
        model = models.BPE(vocabulary, merges, unk_token=SYMBOLS.unknown, byte_fallback=True)
        library = LibraryTokenizer(model)
        library.pre_tokenizer = pre_tokenizers.Split(Regex(SPLIT), behavior="isolated")
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        # The symbols are not registered with the library: it would cut them out of ordinary text.
        return cls(library)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start or end."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts; uses the cores there are."""
        _refuse_surrogates(texts)
        return [encoding.ids for encoding in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def encode_pieces(self, text: str) -> Pieces:
        """The ids with the names and places of the pieces."""
        ids = self.encode(text)
        names = [self.piece(number) for number in ids]
        return Pieces(ids, names, _offsets(ids, names))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; symbols are skipped, and bytes that are no UTF-8 become U+FFFD.

        A model may produce any bytes: the text can hold line ends even where no training text did.
        """
        return self.decode_batch([ids])[0]

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """The texts of many rows of ids."""
        rows = [[int(number) for number in ids if number >= len(SYMBOL_NAMES)] for ids in batch]
        for row in rows:
            if row and max(row) >= self.vocabulary_size:
                raise ValueError(f"id {max(row)} is outside the vocabulary of {self.vocabulary_size} pieces")
        return self._library.decode_batch(rows, skip_special_tokens=False)

    def piece(self, number: int) -> str:
        """The name of a piece, for display: its text, or such as "</s>" and "<0xE6>"."""
        name = self._library.id_to_token(number)
        if name is None:
            raise ValueError(f"id {number} is outside the vocabulary of {self.vocabulary_size} pieces")
        return name

    def save(self, path: Path | str) -> None:
        """Write the tokenizer as one JSON file, in the library's own format."""
        atomic_write_text(path, self._library.to_str(pretty=True) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save` wrote; `BundleError` for a file that is missing, damaged or of another kind."""
        path = Path(path)
        try:
            text = path.read_text("utf-8")
        except OSError as error:
            raise BundleError(f"{path}: the tokenizer cannot be read", why=error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise _unusable(path, "it is not UTF-8 text") from error
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _unusable(path, "it is not whole JSON") from error
        if difference := _difference(content):
            raise _unusable(path, difference)
        try:
            return cls(LibraryTokenizer.from_str(text))
        except Exception as error:  # the library raises plain Exception for whatever it does not like
            raise _unusable(path, str(error)) from error


def _refuse_surrogates(texts: Sequence[str]) -> None:
    for index, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"text {index + 1} is not Unicode: lone surrogate at character {error.start + 1}",
                why="it was made from bytes that are not UTF-8",
                hint="read the text as UTF-8, replacing what is invalid",
            ) from error


def _offsets(ids: list[int], names: list[str]) -> list[tuple[int, int]]:
    """The span of each piece. Concatenation gives the text, so lengths alone decide; bytes are grouped by character."""
    spans: list[tuple[int, int]] = []
    begin, remaining = 0, 0
    for number, name in zip(ids, names, strict=True):
        byte = number - len(SYMBOL_NAMES)
        length = 1 if byte < len(BYTE_NAMES) else len(name)
        spans.append((begin, begin + length))
        if byte < len(BYTE_NAMES):
            remaining = (remaining or _bytes_of_character(byte)) - 1
        if remaining == 0:
            begin += length
    return spans


def _bytes_of_character(first: int) -> int:
    """How many bytes a UTF-8 character has, told by its first."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _difference(content: Any) -> str:
    """How a tokenizer file differs from those that openwork writes; empty if it does not."""
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict) or model.get("type") != "BPE" or model.get("byte_fallback") is not True:
        return "it holds no byte-pair pieces with bytes as fall-back"
    vocabulary, merges = model.get("vocab"), model.get("merges")
    if not isinstance(vocabulary, dict) or not isinstance(merges, list):
        return "it holds no pieces"
    names = sorted(vocabulary, key=lambda name: vocabulary[name] if isinstance(vocabulary[name], int) else -1)
    if [vocabulary[name] for name in names] != list(range(len(names))):
        return "the ids of its pieces have gaps"
    if tuple(names[: len(FIXED_NAMES)]) != FIXED_NAMES:
        return "its first pieces are not openwork's symbols and bytes"
    if not all(isinstance(merge, list) and len(merge) == 2 for merge in merges):
        return "its merges are not pairs"
    if any("".join(map(str, merge)) in FIXED_NAMES for merge in merges):
        return "its merges would let text forge a symbol"
    skeleton = json.loads(Tokenizer.from_merges({name: i for i, name in enumerate(FIXED_NAMES)}, [])._library.to_str())
    ours, theirs = _without_learnt_parts(skeleton), _without_learnt_parts(content)
    different = [part for part in sorted(ours.keys() | theirs.keys()) if ours.get(part) != theirs.get(part)]
    return f"its {different[0]} is not openwork's" if different else ""


def _without_learnt_parts(content: dict[str, Any]) -> dict[str, Any]:
    """All but the pieces, the merges and the pattern that cuts words, which a later version may change."""
    rest = {key: value for key, value in content.items() if key != "version"}
    rest["model"] = {key: value for key, value in rest["model"].items() if key not in ("vocab", "merges")}
    if isinstance(rest.get("pre_tokenizer"), dict):
        rest["pre_tokenizer"] = {key: value for key, value in rest["pre_tokenizer"].items() if key != "pattern"}
    return rest


def _unusable(path: Path, why: str) -> BundleError:
    return BundleError(
        f"{path}: this is not a tokenizer of openwork, or it is damaged", why=why, hint="copy the whole bundle again"
    )
