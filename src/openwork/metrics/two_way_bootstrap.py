"""Differences of corpus scores, such as BLEU, for new seeds and new sentences: both are resampled.

A corpus score is a function of sums over sentences (counts of n-grams, lengths). So a resample of sentences is a product
of a matrix of counts with what each sentence adds. Of seeds all resamples are known without drawing any.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.metrics.estimates import Estimate, MeanSquare, VarianceTerm, check_seeds, satterthwaite
from openwork.metrics.significance import RESAMPLES, SEED
from openwork.metrics.translation import bleu_metric, chrf_metric

Statistics = NDArray[np.float64]
"""What each seed's translation of each sentence adds to the corpus score: (seeds, sentences, numbers)."""
CorpusScore = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Scores (...) from 0 to 100 of the sums (..., numbers) over sentences."""
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


def two_way_difference(
    first: Statistics, second: Statistics, score: CorpusScore, draws: Draws | None = None
) -> Estimate:
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
    sentences this is `difference_on_sentences`, but for the chance of drawing. DataError: one seed, or other sentences.
    """
    draws = draws or Draws()
    _check(first, second)
    scores = [score(one.sum(axis=1)) for one in (first, second)]
    drawn = _resampled(first, second, score, draws)
    sentences = first.shape[1]
    difference = drawn[1].mean(axis=1) - drawn[0].mean(axis=1)
    terms = [VarianceTerm(1.0, MeanSquare(float(np.var(difference, ddof=1)), sentences - 1))]
    for own, resampled in zip(scores, drawn, strict=True):
        terms += _seeds_terms(own, resampled, sentences)
    return satterthwaite(float(scores[1].mean() - scores[0].mean()), terms)


def mean_score(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corpus score of a metric that is a mean over sentences; its statistics are (score, 1)."""
    return sums[..., 0] / sums[..., 1]


def corpus_metric(name: str, tokenisation: str = "13a") -> CorpusMetric:
    """sacreBLEU's BLEU ("bleu", with its name of a tokenisation) or chrF2 ("chrf")."""
    metric = bleu_metric(tokenisation) if name == "bleu" else chrf_metric()

    def statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
        return np.array(metric._extract_corpus_statistics(list(hypotheses), [list(references)]), np.float64)

    def of_one(sums: NDArray[np.float64]) -> float:
        return float(metric._compute_score_from_stats([int(one) for one in sums]).score)

    return CorpusMetric(statistics, lambda sums: np.apply_along_axis(of_one, -1, sums))


def _resampled(first: Statistics, second: Statistics, score: CorpusScore, draws: Draws) -> list[NDArray[np.float64]]:
    """The scores (resamples, seeds) of both methods, on the same resamples of sentences."""
    random = np.random.default_rng(draws.seed)
    sentences = first.shape[1]
    block = max(1, _BLOCK // sentences)
    scores: list[list[NDArray[np.float64]]] = [[], []]
    for start in range(0, draws.resamples, block):
        size = min(block, draws.resamples - start)
        counts = random.multinomial(sentences, np.full(sentences, 1 / sentences), size).astype(np.float64)
        for kept, one in zip(scores, (first, second), strict=True):
            kept.append(score(np.einsum("bn,knf->bkf", counts, one, optimize=True)))
    return [np.concatenate(kept) for kept in scores]


def _seeds_terms(scores: NDArray[np.float64], resampled: NDArray[np.float64], sentences: int) -> list[VarianceTerm]:
    """The variance of the mean of a method's seeds, less what it shares with sentences; nothing where that is more."""
    count = len(scores)
    covariances = np.cov(resampled, rowvar=False)
    own, together = np.trace(covariances) / count, covariances[~np.eye(count, dtype=bool)].mean()
    seeds = MeanSquare(float(np.var(scores, ddof=1)), count - 1)
    both = MeanSquare(float(own - together), (count - 1) * (sentences - 1))
    return [VarianceTerm(1 / count, seeds), VarianceTerm(-1 / count, both)] if seeds.value > both.value else []


def _check(first: Statistics, second: Statistics) -> None:
    for one in (first, second):
        check_seeds(len(one))
    if first.shape[1:] != second.shape[1:]:
        raise DataError(
            f"statistics of {first.shape[1]:,} sentences cannot be compared with those of {second.shape[1]:,}",
            hint="score both methods on the same sentences with the same metric",
            code="D177",
        )
