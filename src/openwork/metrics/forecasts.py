"""Scores of forecasts: MASE (Hyndman and Koehler 2006) and CRPS (Gneiting and Raftery 2007)."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from openwork.metrics.significance import interval

Values = NDArray[np.float64]


def naive_error(history: Sequence[float], season: int) -> float:
    """The mean |y[t] - y[t - season]| of a history: MASE is the mean absolute error of a forecast over it.

    Hyndman and Koehler 2006, section 3, for season 1. NaN for a history of one season or less.
    """
    changes = np.abs(np.subtract(history[season:], history[:-season]))
    return float(changes.mean()) if len(changes) else float("nan")


def crps(samples: Values, truth: Values) -> Values:
    """The continuous ranked probability score (step) of samples (sample, step): E|X - y| - E|X - X'| / 2.

    Gneiting and Raftery 2007, equation 21, of the distribution that has just these samples; the lower the better. It is
    in the unit of the values, and of one sample it is the absolute error.
    """
    count = len(samples)
    weights = 2 * np.arange(1, count + 1) - count - 1  # pairs whose difference adds a sorted sample, less the others
    spread = 2 * (weights[:, None] * np.sort(samples, axis=0)).sum(axis=0) / count**2
    return np.abs(samples - truth).mean(axis=0) - spread / 2


def block_interval(
    statistic: Callable[[Values], float], values: Values, block: int, resamples: int
) -> tuple[float, float]:
    """The 95 % interval of a statistic of values in the order of time, whose neighbours depend on each other.

    Resamples are made of blocks of so many neighbours, the last followed by the first (Politis and Romano 1992).
    """
    count, places = len(values), np.arange(block)

    def resampled(starts: NDArray[np.integer]) -> float:
        rows = starts[: -(-count // block), None] + places
        return statistic(values[rows.ravel()[:count] % count])

    return interval(resampled, count, resamples)
