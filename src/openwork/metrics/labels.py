"""Scores of predicted labels, spans of words and numbers.

All scores of labels are from 0 to 1, except that Matthews' coefficient and correlations are from -1 to 1. Tags mark
spans of words: B-x begins a span of the kind x, I-x continues it, O is in none. A span counts as found where kind,
beginning and end are right. Tjong Kim Sang and De Meulder, "Introduction to the CoNLL-2003 Shared Task" (2003), whose
program takes an I-x without a span of its kind before it as a beginning.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openwork.metrics.ratio import check_counts, f1


@dataclass(frozen=True)
class Labelled:
    """The right and the predicted class of each example, as numbers."""

    right: NDArray[np.intp]
    predicted: NDArray[np.intp]
    classes: int

    @classmethod
    def of(cls, references: Sequence[Hashable], hypotheses: Sequence[Hashable]) -> "Labelled":
        """Classes are all labels that occur on either side. `DataError` if the two counts differ."""
        check_counts(hypotheses, references)
        numbers = {label: number for number, label in enumerate(dict.fromkeys([*references, *hypotheses]))}
        right, predicted = (np.array([numbers[label] for label in side], np.intp) for side in (references, hypotheses))
        return cls(right, predicted, len(numbers))

    def __getitem__(self, examples: NDArray[np.intp]) -> "Labelled":
        """Some of the examples, by their numbers; one may come several times."""
        return Labelled(self.right[examples], self.predicted[examples], self.classes)

    def __len__(self) -> int:
        return len(self.right)

    @property
    def table(self) -> NDArray[np.intp]:
        """Counts (classes, classes): rows are right classes, columns predicted ones."""
        flat = np.bincount(self.right * self.classes + self.predicted, minlength=self.classes**2)
        return flat.reshape(self.classes, self.classes)


def accuracy(labelled: Labelled) -> float:
    """The share of examples whose label is right; with one label an example it equals micro F1."""
    return float((labelled.right == labelled.predicted).mean()) if len(labelled) else float("nan")


def micro_f1(labelled: Labelled, left_out: Sequence[int] = ()) -> float:
    """F1 over all classes together, without those that are `left_out`, such as the negative class of a pair task."""
    table = labelled.table
    kept = [number for number in range(labelled.classes) if number not in left_out]
    true = float(table[kept, kept].sum())
    return f1(true, float(table[:, kept].sum()), float(table[kept].sum()))


def macro_f1(labelled: Labelled) -> float:
    """The mean of the classes' F1, of the classes that occur on either side."""
    table = labelled.table
    predicted, right = table.sum(axis=0), table.sum(axis=1)
    occurring = np.nonzero(predicted + right)[0]
    if not occurring.size:
        return float("nan")
    return float(np.mean([f1(float(table[k, k]), float(predicted[k]), float(right[k])) for k in occurring]))


def matthews(labelled: Labelled) -> float:
    """Matthews' correlation coefficient for any number of classes; 0 where one side has one class alone.

    (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)) with c right of s examples, class k predicted p_k
    times and right t_k times. Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient"
    (2004).
    """
    table = labelled.table.astype(np.float64)
    predicted, right, count, true = table.sum(axis=0), table.sum(axis=1), table.sum(), np.trace(table)
    below = (count**2 - (predicted**2).sum()) * (count**2 - (right**2).sum())
    return float((true * count - (predicted * right).sum()) / np.sqrt(below)) if below > 0 else 0.0


class Span(NamedTuple):
    """A kind, the first word and the last, counted from 0."""

    kind: str
    first: int
    last: int


class Spans(NamedTuple):
    """How many spans are right, are predicted, and are both; addable by fields."""

    right: int = 0
    predicted: int = 0
    true: int = 0

    @property
    def f1(self) -> float:
        """From 0 to 1; 0 where there are no spans."""
        return f1(self.true, self.predicted, self.right)

    @property
    def precision(self) -> float:
        """The share of predicted spans that are right; 0 where none is predicted."""
        return self.true / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of right spans that are predicted; 0 where there is none."""
        return self.true / self.right if self.right else 0.0


def is_bio(tags: Iterable[str]) -> bool:
    """Whether these are tags of spans, at least one of which begins somewhere."""
    seen = set(tags)
    return any(tag.startswith("B-") for tag in seen) and all(tag == "O" or tag.startswith(("B-", "I-")) for tag in seen)


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans that the tags of a sentence mark, from left to right; any other tag than B-x and I-x is outside."""
    found: list[Span] = []
    kind, first = "", 0
    for place, tag in enumerate([*tags, "O"]):
        mark, _, own = tag.partition("-")
        inside = mark == "I" and own == kind != ""
        if kind and not inside:
            found.append(Span(kind, first, place - 1))
            kind = ""
        if mark in ("B", "I") and own and not inside:
            kind, first = own, place
    return found


def count_spans(right: Sequence[str], predicted: Sequence[str]) -> Spans:
    """The counts of one sentence, from its right and its predicted tags."""
    true_spans, said_spans = set(spans(right)), set(spans(predicted))
    return Spans(len(true_spans), len(said_spans), len(true_spans & said_spans))


def pearson(first: Sequence[float] | NDArray, second: Sequence[float] | NDArray) -> float:
    """Pearson's correlation (1895), from -1 to 1; NaN where one side is the same number throughout."""
    a, b = (np.asarray(side, np.float64) - np.mean(side) for side in (first, second))
    below = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / below if below > 0 else float("nan")


def spearman(first: Sequence[float] | NDArray, second: Sequence[float] | NDArray) -> float:
    """Spearman's rank correlation (1904): Pearson's of the ranks, equal numbers having the mean of their ranks."""
    return pearson(ranks(first), ranks(second))


def ranks(numbers: Sequence[float] | NDArray) -> NDArray[np.float64]:
    """The place of each number in ascending order, from 1; equal ones share the mean of their places."""
    values = np.asarray(numbers, np.float64)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - counts + 1 + last) / 2)[inverse]
