"""The one record of this floor: a sentence and its translation."""

from typing import NamedTuple


class Pair(NamedTuple):
    """A source sentence and its target sentence, as text without a line end; either may be empty (a blank line)."""

    source: str
    target: str
