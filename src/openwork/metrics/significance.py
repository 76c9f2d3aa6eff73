"""Whether one system is better than another, or only luckier with this test set.

Two tests on the same sentences: paired bootstrap resampling (Koehn, "Statistical Significance Tests for Machine
Translation Evaluation", 2004) and paired approximate randomisation (Riezler and Maxwell 2005). Each gives the
probability of a difference at least as large as the one observed if the systems were equally good; both are two-sided.
sacreBLEU computes them of its own metrics; of any other score they are written out here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.metrics.translation import (
    SEED,
    bleu_metric,
    bleu_tokenisation,
    check_aligned,
    chrf_metric,
    give_plain_numbers,
    seeded,
)

RESAMPLES = 1_000  # of the bootstrap, sacreBLEU's number
TRIALS = 10_000  # of the randomisation, sacreBLEU's number
SIGNIFICANT = 0.05
_EQUAL = 1e-12  # smaller differences are rounding
_LARGEST = 2**31  # bytes of statistics that the resamples may take, 18 numbers of four bytes a sentence


@dataclass(frozen=True)
class ScoreInterval:
    """A figure with the 95 % interval of its resamples."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """One metric of two systems; `bootstrap` and `randomisation` are the p-values of the two tests."""

    metric: str
    first: ScoreInterval
    second: ScoreInterval
    bootstrap: float
    randomisation: float
    signature: str

    @property
    def value(self) -> float:
        """How much higher the second system scores."""
        return self.second.value - self.first.value

    @property
    def significant(self) -> bool:
        """Whether both tests find the difference too large for luck."""
        return max(self.bootstrap, self.randomisation) < SIGNIFICANT


@dataclass(frozen=True)
class Effort:
    """How much chance is drawn, and from which seed."""

    resamples: int = RESAMPLES
    trials: int = TRIALS
    seed: int = SEED


def compare(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[str],
    *,
    language: str | None = None,
    effort: Effort | None = None,
) -> tuple[Difference, ...]:
    """BLEU and chrF2 of two systems' translations of the same sentences, and the p-values of the two tests."""
    effort = effort or Effort()
    check_aligned(first, references)
    check_aligned(second, references)
    if 72 * effort.resamples * len(references) > _LARGEST:
        raise DataError(
            f"{effort.resamples:,} resamples of {len(references):,} sentences do not fit into memory",
            hint="give fewer resamples or fewer sentences",
            code="D068",
        )
    tokenisation = bleu_tokenisation(language, references)
    metrics: tuple[Callable[[], Any], ...] = (lambda: bleu_metric(tokenisation), chrf_metric)
    return tuple(_compare_by(metric, first, second, references, effort) for metric in metrics)


def _compare_by(
    make: Callable[[], Any], first: Sequence[str], second: Sequence[str], references: Sequence[str], effort: Effort
) -> Difference:
    from sacrebleu.significance import PairedTest

    def test(kind: str, samples: int) -> tuple[str, str, list[Any]]:
        """sacreBLEU's name of the metric, its signature, and the results of both systems."""
        metric = make()
        give_plain_numbers(metric)
        systems: list[tuple[str, Sequence[str]]] = [("first", list(first)), ("second", list(second))]
        with seeded(effort.seed):
            signatures, results = PairedTest(systems, {"": metric}, [list(references)], kind, samples)()
        name = next(iter(signatures))
        return name, str(signatures[name]), results[name]

    name, signature, (one, other) = test("bs", effort.resamples)
    exchanged = test("ar", effort.trials)[2][1]
    # Where nothing differs, sacreBLEU counts no larger differences, and its p-value is the smallest there is.
    p_values = (1.0, 1.0) if one.score == other.score else (float(other.p_value), float(exchanged.p_value))
    first_score, second_score = (
        ScoreInterval(float(result.score), float(result.mean - result.ci), float(result.mean + result.ci))
        for result in (one, other)
    )
    return Difference(name, first_score, second_score, *p_values, f"{signature}|ar:{effort.trials}")


Statistic = Callable[[NDArray[np.intp]], float]
"""A score, from 0 to 1, of some answers by their numbers."""


def compare_statistic(name: str, statistic: Statistic, count: int, effort: Effort | None = None) -> Difference:
    """Any score of two systems on the same `count` examples, and the p-values of the two tests of the difference.

    `statistic` knows 2 `count` answers, the first system's and behind them the second's. In the bootstrap it
    counts how far a resample's difference is from the one observed; in the randomisation, how large the difference is
    where each example's answers are exchanged or not. Both as (larger or equal + 1) / (draws + 1). Draws without a
    score are left out.
    """
    effort = effort or Effort()
    random = np.random.default_rng(effort.seed)
    own = np.arange(count)
    observed = statistic(own + count) - statistic(own)
    draws = (random.integers(0, count, count) for _ in range(effort.resamples))
    resampled = np.array([(statistic(drawn), statistic(drawn + count)) for drawn in draws])
    swaps = (count * random.integers(0, 2, count) for _ in range(effort.trials))
    exchanged = np.array([statistic(own + count - swap) - statistic(own + swap) for swap in swaps])
    bounds = [_percentiles(scores) for scores in resampled.T]
    first, second = (
        ScoreInterval(100 * statistic(own + shift), 100 * low, 100 * high)
        for shift, (low, high) in zip((0, count), bounds, strict=True)
    )
    by_bootstrap = _share_beyond(resampled[:, 1] - resampled[:, 0] - observed, observed)
    signature = f"n:{count}|bs:{effort.resamples}|seed:{effort.seed}|ar:{effort.trials}"
    return Difference(name, first, second, by_bootstrap, _share_beyond(exchanged, observed), signature)


def _share_beyond(differences: NDArray[np.float64], observed: float) -> float:
    known = differences[~np.isnan(differences)]
    return (int((np.abs(known) >= abs(observed) - _EQUAL).sum()) + 1) / (len(known) + 1)


def _percentiles(drawn: NDArray[np.float64]) -> tuple[float, float]:
    """The bounds that 95 % lie between; NaN where there is no score."""
    known = drawn[~np.isnan(drawn)]
    low, high = np.percentile(known, [2.5, 97.5]) if known.size else (float("nan"), float("nan"))
    return float(low), float(high)


def interval(statistic: Statistic, count: int, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[float, float]:
    """The 95 % interval of a score of `count` examples by the bootstrap: percentiles of draws with replacement.

    Draws without a score (NaN) are left out. The same for the same seed. Efron (1979).
    """
    random = np.random.default_rng(seed)
    return _percentiles(np.array([statistic(random.integers(0, count, count)) for _ in range(resamples)]))
