"""The one interface to all tokenizers, and what all vocabularies have in common: symbols, and where words end."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from openwork.base.errors import ConfigError, DataError
from openwork.base.sources import SourceEncoder
from openwork.base.symbols import SYMBOL_IDS
from openwork.text.work import WordWork

# Chinese and Japanese are written without spaces: their runs stay whole, so that pieces can span characters, but are
# kept apart from other scripts, so that a name has the same pieces in Chinese as in English.
_HAN_AND_KANA = r"\p{Han}\p{Hiragana}\p{Katakana}ー"

SPLIT = (
    rf" ?[{_HAN_AND_KANA}][{_HAN_AND_KANA}\p{{M}}]*"
    rf"| ?[\p{{L}}\p{{M}}&&[^{_HAN_AND_KANA}]]+"
    r"| ?\p{N}| ?<| ?[^\s\p{L}\p{M}\p{N}<]+|\s+(?!\S)|\s+"
)
"""Words take the space before them, letters and marks stay together, digits stand alone.

A "<" always ends its word, so no learnt piece can continue after it: text cannot forge "<s>" or "<0xE6>". Nor can it
forge "⟦1⟧", since a digit is never in one word with a bracket.
"""


@dataclass(frozen=True)
class Symbols:
    """The names of the four symbols, in the order of their ids (`SymbolIds`)."""

    pad: str = "<pad>"
    unknown: str = "<unk>"
    start: str = "<s>"
    end: str = "</s>"


SYMBOLS = Symbols()
SYMBOL_NAMES: tuple[str, ...] = astuple(SYMBOLS)
BYTE_NAMES: tuple[str, ...] = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIXED_NAMES: tuple[str, ...] = SYMBOL_NAMES + BYTE_NAMES
"""What most vocabularies start with: the symbols, then one piece a byte."""

SMALLEST_VOCABULARY = 300
"""The symbols and bytes take 260 pieces; less than this leaves no room for an alphabet."""


def placeholder_names(count: int) -> list[str]:
    """The names of the placeholders: ⟦1⟧, ⟦2⟧ and so on."""
    return [f"⟦{number}⟧" for number in range(1, count + 1)]


@dataclass(frozen=True)
class Pieces:
    """How a text was split: for each piece its id, its name and its (begin, end) in characters of the text.

    A piece that holds only some bytes of a character carries the span of the whole character.
    """

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]

    def add(self, number: int, name: str, place: tuple[int, int]) -> None:
        self.ids.append(number)
        self.pieces.append(name)
        self.offsets.append(place)


class Tokenizer(SourceEncoder):
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

    @property
    def size(self) -> int:
        return self.vocabulary_size

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start or end."""
        return self.encode_batch([text])[0]

    def encode_framed(self, text: str) -> list[int]:
        """The ids of a text between start and end."""
        return [self.start_id, *self.encode(text), self.end_id]

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts; uses the cores there are."""

    def encode_batch_sampled(self, texts: Sequence[str], seed: int, strength: float) -> list[list[int]]:
        """The ids of many texts, cut at random: the same for the same texts, seed and strength, everywhere.

        `strength` is the probability of BPE-dropout, or the alpha of unigram sampling. `ConfigError` for a kind that
        knows only one way to cut a text.
        """
        raise ConfigError(
            f"the kind {self.kind} cannot be sampled",
            why="it knows only one way to cut a text",
            hint='set text.sampling = 0, or text.kind to "byte-pair", "byte-level" or "unigram"',
            code="C056",
        )

    @abstractmethod
    def encode_pieces(self, text: str) -> Pieces:
        """The ids with the names and places of the pieces."""

    @abstractmethod
    def work(self, text: str) -> list[WordWork]:
        """Word by word, what is done to the text; the pieces are those of `encode_pieces`."""

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
