"""A foreign tokenizer with openwork's ids, so that a model can be trained on its pieces.

Pad, unknown, start and end become 0 to 3, as the models have them; all other pieces follow in their own order. A symbol
that the foreign vocabulary lacks is added.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.text.foreign import ForeignTokenizer
from openwork.text.foreign.library import LibraryForeign
from openwork.text.foreign.marian import MarianForeign
from openwork.text.foreign.sentence_piece import SentencePieceForeign
from openwork.text.symbols import SYMBOL_NAMES, Pieces
from openwork.text.tokenizer import Tokenizer
from openwork.text.work import WordWork

FORMAT = "openwork adopted tokenizer"
FORMS: dict[str, Callable[[str], ForeignTokenizer]] = {
    LibraryForeign.form: LibraryForeign.from_content,
    SentencePieceForeign.form: SentencePieceForeign.from_content,
    MarianForeign.form: MarianForeign.from_content,
}


class Adopted(Tokenizer):
    """A foreign tokenizer under our ids. What encoding and decoding lose is what the foreign one loses.

    Where a text holds the name of a symbol ("[SEP]"), the unknown symbol stands: no text can forge an end.
    """

    kind = "adopted"

    def __init__(self, foreign: ForeignTokenizer) -> None:
        self.foreign = foreign
        marks = foreign.marks
        # One foreign symbol may serve for several of ours ("<|endoftext|>"): it is then the end, the one that matters.
        taken: set[int | None] = set()
        ours: dict[int, int | None] = {}
        for number, mark in ((3, marks.end), (2, marks.start), (1, marks.unknown), (0, marks.pad)):
            ours[number] = None if mark in taken else mark
            taken.add(mark)
        self._theirs = [ours[number] for number in range(len(SYMBOL_NAMES))]
        self._theirs += [number for number in foreign.numbers if number not in taken]
        self._ours = {theirs: number for number, theirs in enumerate(self._theirs) if theirs is not None}
        self._ours |= {mark: self.unknown_id for mark in (marks.pad, marks.start, marks.end) if mark is not None}
        self.vocabulary_size = len(self._theirs)
        self.fingerprint = hashlib.sha256(self._saved().encode()).hexdigest()[:16]

    @property
    def theirs(self) -> tuple[int | None, ...]:
        """The foreign id of each of ours; None: they have no such symbol."""
        return tuple(self._theirs)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self._ours[number] for number in row] for row in self.foreign.encode_batch(texts)]

    def encode_batch_sampled(self, texts: Sequence[str], seed: int, strength: float) -> list[list[int]]:
        raise ConfigError(
            "this tokenizer is from a file, so it cannot be sampled",
            why="only the vocabularies that openwork learns can be",
            hint="set text.sampling = 0, or leave out text.source_file and text.target_file",
            code="C054",
        )

    def encode_pieces(self, text: str) -> Pieces:
        pieces = self.foreign.encode_pieces(text)
        return Pieces([self._ours[number] for number in pieces.ids], pieces.pieces, pieces.offsets)

    def work(self, text: str) -> list[WordWork]:
        return self.foreign.work(text)

    def decode(self, ids: Iterable[int]) -> str:
        row = list(ids)
        if row and max(row) >= self.vocabulary_size:
            raise ValueError(f"id {max(row)} is outside the vocabulary of {self.vocabulary_size} pieces")
        theirs = [self._theirs[number] for number in row if number >= len(SYMBOL_NAMES)]
        return self.foreign.decode([number for number in theirs if number is not None])

    def piece(self, number: int) -> str:
        if number < len(SYMBOL_NAMES):
            return SYMBOL_NAMES[number]
        if number >= self.vocabulary_size:
            raise ValueError(f"id {number} is outside the vocabulary of {self.vocabulary_size} pieces")
        theirs = self._theirs[number]
        assert theirs is not None  # only symbols can lack a counterpart
        return self.foreign.piece(theirs)

    def extended(self, lines: Iterable[str], size: int) -> "Adopted":
        if size <= self.vocabulary_size:
            return self
        raise ConfigError(
            "the vocabulary of a tokenizer from a file cannot be extended",
            why="its pieces are made by rules that openwork did not learn",
            hint="go on without new pieces",
            code="C055",
        )

    def save(self, path: Path | str) -> None:
        atomic_write_text(path, self._saved() + "\n")

    def _saved(self) -> str:
        content = {"format": FORMAT, "form": self.foreign.form, "content": self.foreign.content()}
        return json.dumps(content, ensure_ascii=False, indent=1)


def is_adopted(content: Any) -> bool:
    """Whether a file's content is that of an adopted tokenizer."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def adopted_from(content: dict[str, Any]) -> Adopted:
    """The tokenizer of a file's content; KeyError, TypeError or ValueError where it is damaged."""
    return Adopted(FORMS[content["form"]](content["content"]))
