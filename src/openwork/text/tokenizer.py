"""The one interface to all tokenizers: text to ids and back."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from openwork.base.errors import ConfigError, DataError
from openwork.base.symbols import SYMBOL_IDS
from openwork.text.symbols import SYMBOL_NAMES, SYMBOLS, Pieces
from openwork.text.work import WordWork


class Tokenizer(ABC):
    """Text to ids and back; `decode(encode(text)) == text` for every text, unless the kind says what it loses.

    No text is encoded to pad, start or end. The only texts refused (`DataError`) are those with lone surrogates, which
    are not Unicode text.
    """

    kind: str
    vocabulary_size: int
    fingerprint: str  # sixteen hexadecimal digits that tell this vocabulary from all others
    placeholders: int = 0  # how many of them the vocabulary reserves
    first_placeholder: int = len(SYMBOL_NAMES)  # the id of placeholder 1, if there is one

    pad_id = SYMBOL_IDS.pad
    unknown_id = SYMBOL_IDS.unknown
    start_id = SYMBOL_IDS.start
    end_id = SYMBOL_IDS.end
    symbols = SYMBOLS

    # ------------------------------------------------------------------------------------------ text to ids

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start or end."""
        return self.encode_batch([text])[0]

    def encode_framed(self, text: str) -> list[int]:
        """The ids of a text between start and end."""
        return [self.start_id, *self.encode(text), self.end_id]

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts; uses the cores there are."""

    @abstractmethod
    def encode_batch_sampled(self, texts: Sequence[str], seed: int, strength: float) -> list[list[int]]:
        """The ids of many texts, cut at random: the same for the same texts, seed and strength, everywhere.

        `strength` is the probability of BPE-dropout, or the alpha of unigram sampling. `ConfigError` for a kind that
        knows only one way to cut a text.
        """

    @abstractmethod
    def encode_pieces(self, text: str) -> Pieces:
        """The ids with the names and places of the pieces."""

    @abstractmethod
    def work(self, text: str) -> list[WordWork]:
        """Word by word, what is done to the text; the pieces are those of `encode_pieces`."""

    # ------------------------------------------------------------------------------------------ ids to text

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; symbols are skipped, and bytes that are no UTF-8 become U+FFFD.

        A model may produce any bytes: the text can hold line ends even where no training text did.
        """

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """The texts of many rows of ids."""
        return [self.decode(ids) for ids in batch]

    @abstractmethod
    def piece(self, number: int) -> str:
        """The name of a piece, for display: its text, or such as "</s>" and "<0xE6>"."""

    # ------------------------------------------------------------------------------------------ vocabulary

    def placeholder_id(self, number: int) -> int:
        """The id of placeholder `number`, from 1; no text is ever encoded to it. `ConfigError` if there are fewer."""
        if not 1 <= number <= self.placeholders:
            raise ConfigError(
                f"placeholder {number}: the vocabulary reserves {self.placeholders}",
                hint="train with a larger text.placeholders",
                code="C061",
            )
        return self.first_placeholder + number - 1

    def placeholder_number(self, identifier: int) -> int | None:
        """Which placeholder an id is, from 1; None for every other id."""
        number = identifier - self.first_placeholder + 1
        return number if 1 <= number <= self.placeholders else None

    @abstractmethod
    def extended(self, lines: Iterable[str], size: int) -> "Tokenizer":
        """A tokenizer of up to `size` pieces: all that are here, under their ids, and after them some from `lines`.

        For going on with a trained model on other texts. It is the same tokenizer where there is no room.
        """

    @abstractmethod
    def save(self, path: Path | str) -> None:
        """Write the tokenizer as one JSON file; `kinds.load_tokenizer` reads it."""


def refuse_surrogates(texts: Sequence[str]) -> None:
    """`DataError` for the first text that is not Unicode."""
    for index, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"text {index + 1} is not Unicode: lone surrogate at character {error.start + 1}",
                why="it was made from bytes that are not UTF-8",
                hint="read the text as UTF-8, replacing what is invalid",
                code="D109",
            ) from error
