"""What all vocabularies have in common: the names of their first pieces, and where text is cut into words."""

from dataclasses import astuple, dataclass

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
        """Puts one more piece at the end."""
        self.ids.append(number)
        self.pieces.append(name)
        self.offsets.append(place)
