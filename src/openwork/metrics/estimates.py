"""Estimates with standard errors: means over seeds, contrasts of methods, and tests of many comparisons.

A method is trained with several seeds, and every training gives one score: BLEU of a corpus is no mean over sentences,
so the seeds' corpus scores are the observations. What these tests say holds for the texts that were scored and for new
seeds. Texts vary too: see `mixed_model.py` and `two_way_bootstrap.py`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from openwork.base.errors import DataError
from openwork.metrics.distributions import t_quantile, t_two_sided

LEVEL = 0.05  # of tests; intervals have 95 %


class MeanSquare(NamedTuple):
    """A variance that was estimated, and its degrees of freedom."""

    value: float
    freedom: float


class VarianceTerm(NamedTuple):
    """A mean square and how often it counts in a sum of variances; negative where it is taken away."""

    weight: float
    square: MeanSquare


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, its standard error, and the degrees of freedom of that error."""

    value: float
    error: float
    freedom: float

    @property
    def low(self) -> float:
        """The lower bound of the 95 % interval, by t."""
        return self.value - self._half

    @property
    def high(self) -> float:
        """The upper bound of the 95 % interval."""
        return self.value + self._half

    @property
    def _half(self) -> float:
        return t_quantile(1 - LEVEL / 2, self.freedom) * self.error if self.error > 0 else 0.0

    @property
    def p(self) -> float:
        """Two-sided, of the true value being 0; NaN where nothing varied, which no test can judge."""
        return t_two_sided(self.value / self.error, self.freedom) if self.error > 0 else math.nan


def satterthwaite(value: float, terms: Sequence[VarianceTerm]) -> Estimate:
    """An estimate whose squared error is a sum of mean squares, each with degrees of freedom of its own.

    df = (sum w M)^2 / sum (w M)^2 / df_M: the chi-squared with the same mean and variance as the sum. Satterthwaite,
    "An Approximate Distribution of Estimates of Variance Components" (1946); with two methods this is Welch's test.
    """
    parts = [term.weight * term.square.value for term in terms]
    variance = sum(parts)
    if variance <= 0:
        return Estimate(value, 0.0, math.inf)
    spread = sum(part**2 / term.square.freedom for part, term in zip(parts, terms, strict=True))
    return Estimate(value, math.sqrt(variance), variance**2 / spread)


def mean_over_seeds(scores: Sequence[float]) -> Estimate:
    """The mean of the seeds' scores; its error is s / sqrt(k) with k - 1 degrees of freedom. DataError: one seed."""
    return contrast([(1.0, scores)])


def mean_with_interval(scores: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """The mean over seeds and the bounds of its interval; of one seed there are none."""
    if len(scores) < 2:
        return scores[0], None
    found = mean_over_seeds(scores)
    return found.value, (found.low, found.high)


def difference_over_seeds(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How much higher the second method scores, by Welch's test: the methods' seeds may vary differently."""
    return contrast([(-1.0, first), (1.0, second)])


def contrast(cells: Sequence[tuple[float, Sequence[float]]]) -> Estimate:
    """A weighted sum of the means of several methods, such as (c - b) - (d - a), with error and degrees of freedom.

    Each cell is a weight and the seeds' scores; the squared error is the sum of w^2 s^2 / k, with s^2 of each cell.
    DataError: a cell has fewer than two seeds, so its spread is unknown.
    """
    value, terms = 0.0, []
    for weight, scores in cells:
        check_seeds(len(scores))
        value += weight * float(np.mean(scores))
        terms.append(VarianceTerm(weight**2 / len(scores), MeanSquare(float(np.var(scores, ddof=1)), len(scores) - 1)))
    return satterthwaite(value, terms)


def check_seeds(count: int) -> None:
    """DataError unless there are two seeds or more."""
    if count < 2:
        raise DataError(
            f"a method with {count} seed(s) cannot be tested",
            why="how much a score varies from seed to seed is known from two seeds on",
            hint="train the method with two more seeds",
            code="D135",
        )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: below 5 % in a family whose chance of a single false positive is at most 5 %.

    The smallest of m is multiplied by m, the next by m - 1 and so on, none below the one before, at most 1. NaN stays,
    and is no part of the family. Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).
    """
    adjusted = [math.nan] * len(p_values)
    known = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[place] = least
    return adjusted


@dataclass(frozen=True)
class MethodDifference:
    """Two methods by name, how much higher the second one scores, and its p after Holm's correction."""

    first: str
    second: str
    estimate: Estimate
    adjusted: float

    @property
    def is_shown(self) -> bool:
        """Whether the difference is shown: False where it is too small for the error, and where nothing varied."""
        return self.adjusted < LEVEL

    @property
    def lost_by_correction(self) -> bool:
        """Whether only the correction for the other comparisons takes the significance away."""
        return self.estimate.p < LEVEL <= self.adjusted


def corrected(estimates: Mapping[tuple[str, str], Estimate]) -> list[MethodDifference]:
    """The comparisons of one family with Holm's correction over all of them."""
    adjusted = holm([estimate.p for estimate in estimates.values()])
    pairs = zip(estimates.items(), adjusted, strict=True)
    return [MethodDifference(first, second, estimate, p) for ((first, second), estimate), p in pairs]


def compare_all(scores: Mapping[str, Sequence[float]]) -> list[MethodDifference]:
    """Every pair of methods on their seeds' scores. All pairs are one family, since the data choose the best method."""
    pairs = combinations(scores, 2)
    return corrected({(one, other): difference_over_seeds(scores[one], scores[other]) for one, other in pairs})


def tied_with(best: str, names: Iterable[str], comparisons: Sequence[MethodDifference]) -> set[str]:
    """The methods that no comparison distinguishes from the best one, and that one."""
    apart = {one.second if one.first == best else one.first for one in comparisons
             if one.is_shown and best in (one.first, one.second)}  # fmt: skip
    return set(names) - apart
