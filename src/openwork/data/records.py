"""What readers give: a sentence and its translation, and what is told of them."""

from typing import NamedTuple


class Pair(NamedTuple):
    """A source sentence and its target sentence, as text without a line end; either may be empty (a blank line)."""

    source: str
    target: str


class Skipped(NamedTuple):
    """What a file holds in the place of a pair and does not mean to be one, such as a fuzzy entry of a PO file."""

    reason: str
    line: int


class Languages(NamedTuple):
    """The languages of a pair's sides, such as en and zh-CN; None where it is not said."""

    source: str | None = None
    target: str | None = None


UNSAID = Languages()
"""The languages of pairs of which nothing is said."""
