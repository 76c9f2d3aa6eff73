"""External tokenizers: those that others have made, read from their files."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

from openwork.text.tokenizer import Pieces
from openwork.text.work import WordWork


class Marks(NamedTuple):
    """The ids that an external vocabulary has for the four symbols; None for those that it lacks."""

    pad: int | None = None
    unknown: int | None = None
    start: int | None = None
    end: int | None = None


class ExternalTokenizer(ABC):
    """A tokenizer with ids and rules of its own: what its reference library gives, this gives.

    Unlike with our own, a text may hold its symbols ("[MASK]"), and decoding may not give the text back.
    """

    kind: str
    form: ClassVar[str]  # how `content` is to be read again
    vocabulary_size: int
    numbers: Sequence[int]  # the ids that pieces have, ascending; there may be gaps
    marks: Marks  # the symbols that it has

    @classmethod
    @abstractmethod
    def from_content(cls, content: str) -> Self:
        """From what `content` gave; `ValueError` where it is not understood."""

    @abstractmethod
    def content(self) -> str:
        """All that is needed to make the same tokenizer again."""

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without the symbols around it."""
        return self.encode_batch([text])[0]

    def encode_framed(self, text: str) -> list[int]:
        """The ids of a text with the symbols that the tokenizer puts around it, such as [CLS] and [SEP]."""
        start, end = ([mark] if mark is not None else [] for mark in (self.marks.start, self.marks.end))
        return [*start, *self.encode(text), *end]

    @abstractmethod
    def encode_pieces(self, text: str) -> Pieces:
        """The ids with the names and places of the pieces; places as the reference library tells them."""

    @abstractmethod
    def decode(self, ids: list[int]) -> str:
        """The text of the ids, without symbols; spaces may differ from those of the text that was encoded."""

    @abstractmethod
    def piece(self, number: int) -> str:
        """The name of a piece, for display."""

    def work(self, text: str) -> list[WordWork]:
        """Word by word, what is done to the text; the pieces are those of `encode`. Without steps if not overridden."""
        return [WordWork(text, (), (), tuple(self.encode_pieces(text).pieces))]
