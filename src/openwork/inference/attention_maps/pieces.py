"""Pieces as they are shown, and which characters of a text they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from openwork.base.printing import UNSAFE
from openwork.base.symbols import SYMBOL_IDS
from openwork.text.pair import TokenizerPair
from openwork.text.placeholders import Spans, places_protected, protect, protect_like
from openwork.text.tokenizer import Tokenizer

Place = tuple[int, int] | None
"""The first character and the one after the last; None where it is not known, as of a symbol."""

SYMBOLS = (SYMBOL_IDS.pad, SYMBOL_IDS.start, SYMBOL_IDS.end)  # stand for no part of a text
_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")
REPLACEMENT = "\ufffd"  # what incomplete characters are decoded to


@dataclass(frozen=True)
class SourcePiece:
    """A piece of the source: its label, and its characters in the text."""

    text: str
    place: Place
    is_special: bool

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, **_ends(self.place), "special": self.is_special}


@dataclass(frozen=True)
class TargetPiece:
    """A position of the decoder: the piece that it reads, and the piece that it predicts.

    `log_probability` (nats) is that of the predicted piece, `place` its characters in the translation.
    """

    input: str
    predicted: str
    log_probability: float
    place: Place
    is_special: bool

    def to_json(self) -> dict[str, Any]:
        number = self.log_probability if self.log_probability > float("-inf") else None
        names = {"input": self.input, "predicted": self.predicted, "logProbability": number}
        return {**names, **_ends(self.place), "special": self.is_special}


def _ends(place: Place) -> dict[str, int | None]:
    begin, end = (None, None) if place is None else place
    return {"start": begin, "end": end}


def label(name: str) -> str:
    """A piece's name for people: parts of a character, and what controls a terminal, between ⟨ and ⟩.

    "<0xE6><0x88>" becomes "⟨E6 88⟩", and U+202E, which turns the order of text, "⟨U+202E⟩".
    """
    if _BYTES.fullmatch(name):
        return f"⟨{' '.join(re.findall('[0-9A-F]{2}(?=>)', name))}⟩"
    return UNSAFE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", name.replace(REPLACEMENT, "⟨U+FFFD⟩"))


def labels(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    return [label(tokenizer.piece(number)) for number in ids]


def source_places(tokenizers: TokenizerPair, text: str, ids: Sequence[int]) -> list[Place]:
    """The characters of each of the source's ids."""
    return _known(places_protected(tokenizers.source, protect(text, tokenizers.placeholders)), ids)


def given_places(tokenizers: TokenizerPair, text: str, spans: Spans, ids: Sequence[int]) -> list[Place]:
    """The characters of each id of a translation that was given as text."""
    return _known(places_protected(tokenizers.target, protect_like(text, spans)), ids)


def _known(places: Sequence[tuple[int, int]], ids: Sequence[int]) -> list[Place]:
    return list(places) if len(places) == len(ids) else [None] * len(ids)


def found_places(tokenizers: TokenizerPair, text: str, spans: Spans, ids: Sequence[int]) -> list[Place]:
    """The characters of each id of a translation that a search found, from the texts of its first pieces.

    Such pieces need not be those that the text is cut into. A piece that ends inside a character has all of it.
    """
    whole = [tokenizers.decode_target(ids[:count], spans).text for count in range(len(ids) + 1)]
    shown = [*(one.rstrip(REPLACEMENT) for one in whole[:-1]), text]
    if not all(map(text.startswith, shown)):
        return [None] * len(ids)
    ends = list(accumulate(map(len, shown), max))

    def end_of(place: int) -> int:
        end, is_inside = ends[place], whole[place].endswith(REPLACEMENT)
        return next((later for later in ends[place:] if later > end), end) if is_inside else end

    return [(ends[place - 1], end_of(place)) for place in range(1, len(ends))]
