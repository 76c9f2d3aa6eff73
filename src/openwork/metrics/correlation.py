"""How well numbers that were said go with the right ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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
