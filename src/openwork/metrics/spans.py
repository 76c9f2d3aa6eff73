"""Scores of tags that mark spans of words: B-x begins a span of the kind x, I-x goes on with it, O is in none.

A span counts as found where kind, beginning and end are right. Tjong Kim Sang and De Meulder, "Introduction to the
CoNLL-2003 Shared Task" (2003), whose program takes an I-x that nothing of its kind stands before as a beginning.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from openwork.metrics.labels import f1

OUTSIDE = "O"


class Span(NamedTuple):
    """A kind, the first word and the last, counted from 0."""

    kind: str
    first: int
    last: int


class Spans(NamedTuple):
    """How many spans are right, were said, and are both; addable by fields."""

    right: int = 0
    said: int = 0
    true: int = 0

    @property
    def f1(self) -> float:
        """From 0 to 1; 0 where there are no spans."""
        return f1(self.true, self.said, self.right)

    @property
    def precision(self) -> float:
        """The share of what was said that is right; 0 where nothing was said."""
        return self.true / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """The share of what is right that was said; 0 where there is nothing."""
        return self.true / self.right if self.right else 0.0


def is_bio(tags: Iterable[str]) -> bool:
    """Whether these are tags of spans, at least one of which begins somewhere."""
    seen = set(tags)
    return any(tag.startswith("B-") for tag in seen) and all(
        tag == OUTSIDE or tag.startswith(("B-", "I-")) for tag in seen
    )


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans that the tags of a sentence mark, from left to right; any other tag than B-x and I-x is outside."""
    found: list[Span] = []
    kind, first = "", 0
    for place, tag in enumerate([*tags, OUTSIDE]):
        mark, _, own = tag.partition("-")
        inside = mark == "I" and own == kind != ""
        if kind and not inside:
            found.append(Span(kind, first, place - 1))
            kind = ""
        if mark in ("B", "I") and own and not inside:
            kind, first = own, place
    return found


def count_spans(right: Sequence[str], said: Sequence[str]) -> Spans:
    """The counts of one sentence, from its right tags and those that were said."""
    true_spans, said_spans = set(spans(right)), set(spans(said))
    return Spans(len(true_spans), len(said_spans), len(true_spans & said_spans))
