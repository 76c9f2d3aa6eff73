"""Differences of corpus scores, such as BLEU, for new seeds and new sentences: both are resampled.

A corpus score is a function of sums over sentences (counts of n-grams, lengths). So a resample of sentences is a
product of a matrix of counts with what each sentence adds. Of seeds all resamples are known without drawing any.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.metrics.estimates import Estimate, MeanSquare, VarianceTerm, check_seeds, satterthwaite
from openwork.metrics.power import Spread
from openwork.metrics.significance import RESAMPLES, SEED
from openwork.metrics.translation import bleu_metric, chrf_metric

Statistics = NDArray[np.float64]
"""What each seed's translation of each sentence adds to the corpus score: (seeds, sentences, numbers)."""
CorpusScore = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Scores (...) from 0 to 100 of the sums (..., numbers) over sentences."""
CORPUS_METRICS = ("bleu", "chrf")  # scores of a corpus that are no means over sentences
_BLOCK = 1 << 22  # counts of sentences in memory at once


class CorpusMetric(NamedTuple):
    """A metric in two parts: the statistics (sentences, numbers) of translations, and the score of their sums."""

    statistics: Callable[[Sequence[str], Sequence[str]], Statistics]
    score: CorpusScore


@dataclass(frozen=True)
class Draws:
    """How many resamples are drawn, and from which seed of the generator."""

    resamples: int = RESAMPLES
    seed: int = SEED


@dataclass(frozen=True, eq=False)
class Resampled:
    """A method's corpus scores: `scores` (seeds,), and `drawn` (resamples, seeds) on resamples of its sentences.

    Methods that were resampled with the same draws have the same sentences in each resample.
    """

    scores: NDArray[np.float64]
    drawn: NDArray[np.float64]
    sentences: int
    draws: Draws

    @property
    def shared(self) -> float:
        """How differently the seeds' scores react to a resample: their mean variance less their mean covariance."""
        covariances = np.cov(self.drawn, rowvar=False)
        return float(np.diag(covariances).mean() - covariances[~np.eye(len(covariances), dtype=bool)].mean())

    @property
    def between(self) -> float:
        """The variance of the seeds' scores, on these sentences."""
        return float(np.var(self.scores, ddof=1))


def resample(statistics: Statistics, score: CorpusScore, draws: Draws | None = None) -> Resampled:
    """The corpus scores of a method, and those on resamples of its sentences. DataError: one seed."""
    check_seeds(len(statistics))
    draws = draws or Draws()
    random = np.random.default_rng(draws.seed)
    sentences = statistics.shape[1]
    block = max(1, _BLOCK // sentences)
    drawn = []
    for start in range(0, draws.resamples, block):
        size = min(block, draws.resamples - start)
        counts = random.multinomial(sentences, np.full(sentences, 1 / sentences), size).astype(np.float64)
        drawn.append(score(np.einsum("bn,knf->bkf", counts, statistics, optimize=True)))
    return Resampled(score(statistics.sum(axis=1)), np.concatenate(drawn), sentences, draws)


def two_way_difference(first: Resampled, second: Resampled) -> Estimate:
    """How much higher the second method's corpus score is, for new seeds of both methods and for new sentences.

    The value is the difference of the means of the seeds' scores. Its squared error has three parts:

        seeds       s^2 / k of each method: the variance of the mean of k - 1 seeds drawn from its k. Drawing k would
                    give (k - 1) / k of it, a third too little with three seeds (McCarthy and Snowden, "The Bootstrap
                    and Finite Population Sampling", 1985)
        sentences   the variance of the difference over resamples of sentences, the same for both methods and all seeds
        both        taken away, since both parts hold it: how differently the seeds' scores react to a resample, which
                    is the mean variance of a seed's resamples less the mean covariance of two seeds', / k

    Drawing seeds and sentences at once would count the last three times, not once (Owen, "The pigeonhole bootstrap",
    2007). Percentiles of resamples are too narrow with few seeds, so the interval is by t, with the degrees of freedom
    of Satterthwaite (1946): k - 1 for each method's seeds, n - 1 for sentences. For a score that is a mean over
    sentences this is `difference_on_sentences`, but for the chance of drawing. DataError: other sentences.
    """
    terms = [VarianceTerm(1.0, MeanSquare(_of_difference(first, second), first.sentences - 1))]
    for one in (first, second):
        count = len(one.scores)
        if one.between > one.shared:  # a negative variance between seeds counts as none
            both = MeanSquare(one.shared, (count - 1) * (one.sentences - 1))
            terms += [VarianceTerm(1 / count, MeanSquare(one.between, count - 1)), VarianceTerm(-1 / count, both)]
    return satterthwaite(float(second.scores.mean() - first.scores.mean()), terms)


def measured_spread(first: Resampled, second: Resampled) -> Spread:
    """What `power` plans with, from two methods that were trained and scored: the parts of `two_way_difference`.

    `sentences` and `both` are those of a single sentence, so that sets of other sizes can be planned.
    """
    pair = (first, second)
    seeds = float(np.mean([max(0.0, one.between - one.shared) for one in pair]))
    texts = _of_difference(first, second) - sum(one.shared / len(one.scores) for one in pair)
    both = float(np.mean([one.shared for one in pair]))
    variances = seeds, first.sentences * max(0.0, texts), first.sentences * max(0.0, both)
    return Spread(*(math.sqrt(variance) for variance in variances))


def _of_difference(first: Resampled, second: Resampled) -> float:
    """The variance over resamples of the difference of the methods' means. DataError: they have other sentences."""
    if (first.sentences, first.draws) != (second.sentences, second.draws):
        raise DataError(
            f"resamples of {first.sentences:,} sentences cannot be compared with those of {second.sentences:,}",
            hint="score both methods on the same sentences with the same metric, and draw the same resamples",
            code="D138",
        )
    return float(np.var(second.drawn.mean(axis=1) - first.drawn.mean(axis=1), ddof=1))


def mean_statistics(scores: NDArray[np.float64]) -> Statistics:
    """The statistics of a metric that is a mean over sentences, from the scores (seeds, sentences)."""
    return np.stack([scores, np.ones_like(scores)], axis=-1)


def mean_score(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corpus score of a metric that is a mean over sentences, of `mean_statistics`."""
    return sums[..., 0] / sums[..., 1]


def corpus_metric(name: str, tokenisation: str = "13a") -> CorpusMetric:
    """sacreBLEU's BLEU ("bleu", with its name of a tokenisation) or chrF2 ("chrf")."""
    metric = bleu_metric(tokenisation) if name == "bleu" else chrf_metric()

    def statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
        return np.array(metric._extract_corpus_statistics(list(hypotheses), [list(references)]), np.float64)

    def of_one(sums: NDArray[np.float64]) -> float:
        return float(metric._compute_score_from_stats([int(one) for one in sums]).score)

    return CorpusMetric(statistics, lambda sums: np.apply_along_axis(of_one, -1, sums))
