"""How many seeds and sentences a difference of two methods needs, to be found with a given probability."""

import math
from bisect import bisect_left
from dataclasses import astuple, dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import UsageError
from openwork.metrics.distributions import t_quantile
from openwork.metrics.estimates import LEVEL

POWER = 0.8
LEAST_SEEDS, MOST_SEEDS = 3, 1_000  # with two seeds the spread between seeds is hardly known
_DRAWS, _SEED = 4_000, 12345
_GRID = np.linspace(0, 1, 257)  # of 1 / degrees of freedom, in which the quantile is nearly straight


@dataclass(frozen=True)
class Spread:
    """What a difference of two methods has to stand out from: standard deviations, in points of the score.

    `seeds` is that of a method's corpus score from seed to seed, on so many texts that they add nothing. `sentences` is
    how much the difference of two methods varies with the texts, of a single sentence: over sqrt(n) it is that of a set
    of n. `both` is how much a sentence's score varies from seed to seed beyond that.
    """

    seeds: float
    sentences: float
    both: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= one < math.inf for one in astuple(self)) or not any(astuple(self)):
            raise UsageError(
                f"standard deviations of {self.seeds} (seeds), {self.sentences} (sentences) and {self.both} (both)",
                why="nothing can be planned where nothing varies, or by less than nothing",
                hint="give them in points of the score, such as 0.4 and 12",
                code="U110",
            )


def power(difference: float, spread: Spread, seeds: int, sentences: int, *, new_texts: bool = True) -> float:
    """The probability that the test at 5 % finds a true difference, with so many seeds of each method and sentences.

    With `new_texts` the test is that of `mixed_model.py`, without it Welch's over the seeds, for these texts alone.
    Both estimate the error, and its degrees of freedom as well. Given these estimates, the difference is beyond
    the quantile with a normal probability, which is averaged over mean squares drawn from their chi-squared
    distributions; the draws are always the same. Exact to about 0.01.
    """
    between, texts, both = (
        spread.seeds**2 / seeds,
        spread.sentences**2 / sentences,
        spread.both**2 / (seeds * sentences),
    )
    freedoms = np.array([seeds - 1, seeds - 1, sentences - 1])
    true = np.array([between + both, between + both, texts + 2 * both if new_texts else 0.0])
    error = math.sqrt(2 * between + texts + 2 * both if new_texts else true.sum())
    if not error:
        return 1.0
    squares = true * np.random.default_rng(_SEED).chisquare(freedoms, (_DRAWS, 3)) / freedoms
    taken_away = both if new_texts else 0.0
    squares[:, :2][squares[:, :2] <= taken_away] = 0.0  # a negative variance of seeds counts as none
    squared = squares.sum(axis=1) - taken_away * (squares[:, :2] > 0).sum(axis=1)
    squared = np.maximum(squared, 1e-12 * error**2)
    parts = (squares**2 / freedoms).sum(axis=1)
    parts += (squares[:, :2] > 0).sum(axis=1) * taken_away**2 / ((seeds - 1) * (sentences - 1))
    critical = np.interp(parts / squared**2, _GRID, _quantiles()) * np.sqrt(squared) / error
    reached, normal = abs(difference) / error, NormalDist()
    return float(np.mean([normal.cdf(reached - one) + normal.cdf(-reached - one) for one in critical]))


def seeds_needed(
    difference: float, spread: Spread, sentences: int, *, new_texts: bool = True, wanted: float = POWER
) -> int | None:
    """The fewest seeds of each method, 3 or more, that find the difference with the `wanted` power.

    None where `MOST_SEEDS` do not suffice: only more sentences help.
    """

    def suffices(seeds: int) -> bool:
        return power(difference, spread, seeds, sentences, new_texts=new_texts) >= wanted

    fewest = bisect_left(range(MOST_SEEDS + 1), True, lo=LEAST_SEEDS, key=suffices)
    return fewest if fewest <= MOST_SEEDS else None


def sentences_needed(difference: float, spread: Spread, wanted: float = POWER) -> int:
    """The fewest sentences with which enough seeds find the difference: t^2 (z + z')^2 / d^2, as seeds add no error."""
    normal = NormalDist()
    reach = normal.inv_cdf(1 - LEVEL / 2) + normal.inv_cdf(wanted)
    return max(2, math.ceil((spread.sentences * reach / difference) ** 2))


@cache
def _quantiles() -> NDArray[np.float64]:
    """The quantile of a test at 5 % on the grid; the first is the normal one."""
    return np.array([t_quantile(1 - LEVEL / 2, 1 / float(one) if one else math.inf) for one in _GRID])
