"""What readers give: pairs of a sentence and its translation, their languages, and texts split for continuation."""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple


class Pair(NamedTuple):
    """A source sentence and its target sentence, as text without a line end; either may be empty (a blank line)."""

    source: str
    target: str


class Skipped(NamedTuple):
    """An entry of a file that is not meant to be a pair, such as a fuzzy entry of a PO file."""

    reason: str
    line: int


class Languages(NamedTuple):
    """The languages of a pair's sides, such as en and zh-CN; None where a language is not known."""

    source: str | None = None
    target: str | None = None


UNSAID = Languages()
"""The languages of pairs of which none is known."""


def split_text(text: str) -> Pair:
    """The first half of the text's words, and the rest with the space before it; of one word, half of its characters.

    No piece spans a space between words, so both halves have the pieces that they have in the whole.
    """
    half = (len(text) + 1) // 2
    spaces = [place for place, character in enumerate(text) if character == " " and 0 < place < len(text) - 1]
    place = min(spaces, key=lambda place: abs(place - half)) if spaces else half
    return Pair(text[:place], text[place:])


def split_texts(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """The first `count` targets that are long enough, each as beginning and rest."""
    return list(islice((split_text(pair.target) for pair in pairs if len(pair.target.strip()) > 1), count))


def are_texts(pairs: Iterable[Pair]) -> bool:
    """Whether there are targets only, so that there is nothing to translate."""
    return not any(pair.source.strip() for pair in pairs)
