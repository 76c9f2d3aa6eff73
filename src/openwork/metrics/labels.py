"""Scores of labels, one an example, from the table of what was right and what was said.

All are shares, from 0 to 1, but Matthews' coefficient, which is from -1 to 1. F1 is the harmonic mean of precision and
recall; van Rijsbergen, "Information Retrieval" (1979).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError


def check_counts(references: Sequence[Hashable], hypotheses: Sequence[Hashable]) -> None:
    """`DataError` unless there are as many of the one as of the other."""
    if len(references) != len(hypotheses):
        raise DataError(
            f"{len(hypotheses):,} labels cannot be compared with {len(references):,} references",
            hint="give one reference for each label, in the same order",
            code="D115",
        )


@dataclass(frozen=True)
class Labelled:
    """What was right and what was said of each example, as numbers of classes."""

    right: NDArray[np.intp]
    said: NDArray[np.intp]
    classes: int

    @classmethod
    def of(cls, references: Sequence[Hashable], hypotheses: Sequence[Hashable]) -> "Labelled":
        """Classes are all labels that occur on either side. `DataError` if the two counts differ."""
        check_counts(references, hypotheses)
        numbers = {label: number for number, label in enumerate(dict.fromkeys([*references, *hypotheses]))}
        right, said = (np.array([numbers[label] for label in side], np.intp) for side in (references, hypotheses))
        return cls(right, said, len(numbers))

    def __getitem__(self, examples: NDArray[np.intp]) -> "Labelled":
        """Some of the examples, by their numbers; one may come several times."""
        return Labelled(self.right[examples], self.said[examples], self.classes)

    def __len__(self) -> int:
        return len(self.right)

    @property
    def table(self) -> NDArray[np.intp]:
        """Counts (classes, classes): rows what was right, columns what was said."""
        flat = np.bincount(self.right * self.classes + self.said, minlength=self.classes**2)
        return flat.reshape(self.classes, self.classes)


def accuracy(labelled: Labelled) -> float:
    """The share of examples of which the right label was said; of one label an example it is micro F1 as well."""
    return float((labelled.right == labelled.said).mean()) if len(labelled) else float("nan")


def f1(true: float, said: float, right: float) -> float:
    """2 true / (said + right), of what was said, what is right and what is both; 0 where there is nothing."""
    return 2 * true / (said + right) if said + right else 0.0


def micro_f1(labelled: Labelled, left_out: Sequence[int] = ()) -> float:
    """F1 over all classes together, without those that are `left_out`, such as the negative class of a pair task."""
    table = labelled.table
    kept = [number for number in range(labelled.classes) if number not in left_out]
    true = float(table[kept, kept].sum())
    return f1(true, float(table[:, kept].sum()), float(table[kept].sum()))


def macro_f1(labelled: Labelled) -> float:
    """The mean of the classes' F1, of the classes that occur on either side."""
    table = labelled.table
    said, right = table.sum(axis=0), table.sum(axis=1)
    occurring = np.nonzero(said + right)[0]
    if not occurring.size:
        return float("nan")
    return float(np.mean([f1(float(table[k, k]), float(said[k]), float(right[k])) for k in occurring]))


def matthews(labelled: Labelled) -> float:
    """Matthews' correlation coefficient for any number of classes; 0 where one side has one class alone.

    (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)) with c right of s examples, class k said p_k times
    and right t_k times. Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient"
    (2004).
    """
    table = labelled.table.astype(np.float64)
    said, right, count, true = table.sum(axis=0), table.sum(axis=1), table.sum(), np.trace(table)
    below = (count**2 - (said**2).sum()) * (count**2 - (right**2).sum())
    return float((true * count - (said * right).sum()) / np.sqrt(below)) if below > 0 else 0.0
