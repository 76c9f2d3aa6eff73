"""An external tokenizer with openwork's ids, so that a model can be trained on its pieces.

Pad, unknown, start and end become 0 to 3, as the models have them; all other pieces follow in their own order. A symbol
that the external vocabulary lacks is added.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.text.external import ExternalTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.external.marian import MarianTokenizer
from openwork.text.external.sentence_piece import SentencePieceTokenizer
from openwork.text.tokenizer import SYMBOL_NAMES, Pieces, Tokenizer
from openwork.text.work import WordWork

FORMAT = "openwork adopted tokenizer"
FORMS: dict[str, type[ExternalTokenizer]] = {
    form.form: form for form in (HuggingFaceTokenizer, SentencePieceTokenizer, MarianTokenizer)
}


class AdaptedTokenizer(Tokenizer):
    """An external tokenizer under our ids. What encoding and decoding lose is what the external one loses.

    Where a text holds the name of a symbol ("[SEP]"), the unknown symbol stands: no text can forge an end.
    """

    kind = "adopted"

    def __init__(self, external: ExternalTokenizer) -> None:
        self.external = external
        marks = external.marks
        named = (marks.pad, marks.unknown, marks.start, marks.end)
        # One external symbol may serve for several of ours ("<|endoftext|>"): it is then the end, the one that matters.
        symbols = [None if mark in named[number + 1 :] else mark for number, mark in enumerate(named)]
        # The external id of each of ours; None: they have no such symbol.
        self.theirs = (*symbols, *(number for number in external.numbers if number not in named))
        self._ours = {theirs: number for number, theirs in enumerate(self.theirs) if theirs is not None}
        self._ours |= {mark: self.unknown_id for mark in (marks.pad, marks.start, marks.end) if mark is not None}
        self.vocabulary_size = len(self.theirs)
        self.fingerprint = hashlib.sha256(self._saved().encode()).hexdigest()[:16]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self._ours[number] for number in row] for row in self.external.encode_batch(texts)]

    def encode_pieces(self, text: str) -> Pieces:
        pieces = self.external.encode_pieces(text)
        return Pieces([self._ours[number] for number in pieces.ids], pieces.pieces, pieces.offsets)

    def work(self, text: str) -> list[WordWork]:
        return self.external.work(text)

    def decode(self, ids: Iterable[int]) -> str:
        row = list(ids)
        if row and max(row) >= self.vocabulary_size:
            raise ValueError(f"id {max(row)} is outside the vocabulary of {self.vocabulary_size} pieces")
        theirs = [self.theirs[number] for number in row if number >= len(SYMBOL_NAMES)]
        return self.external.decode([number for number in theirs if number is not None])

    def piece(self, number: int) -> str:
        if number < len(SYMBOL_NAMES):
            return SYMBOL_NAMES[number]
        if number >= self.vocabulary_size:
            raise ValueError(f"id {number} is outside the vocabulary of {self.vocabulary_size} pieces")
        theirs = self.theirs[number]
        assert theirs is not None  # only symbols can lack a counterpart
        return self.external.piece(theirs)

    def extended(self, lines: Iterable[str], size: int) -> "AdaptedTokenizer":
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
        content = {"format": FORMAT, "form": self.external.form, "content": self.external.content()}
        return json.dumps(content, ensure_ascii=False, indent=1)
