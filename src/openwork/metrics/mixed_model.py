"""Scores of sentences by several seeds, taken apart: what varies with the seed, with the sentence, and with both.

The model has two crossed random factors, score[s, i] = mean + seed_s + sentence_i + interaction_si: every seed of a
method translates the same sentences. With one score a cell, the interaction is all that neither the seed nor the
sentence alone explains. The variances are those of the analysis of variance (Searle, Casella and McCulloch, "Variance
Components", 1992, chapter 4): mean squares of rows, columns and residuals, whose expectations are

    seeds         I + n S        k - 1 degrees of freedom      (k seeds, n sentences; S, N, I: the three variances)
    sentences     I + k N        n - 1
    interaction   I              (k - 1)(n - 1)

It holds for scores of sentences and their mean. BLEU of a corpus is no such mean: see `two_way_bootstrap.py`.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.metrics.distributions import f_quantile
from openwork.metrics.estimates import LEVEL, Estimate, MeanSquare, VarianceTerm, check_seeds, satterthwaite

Scores = NDArray[np.float64]
"""Scores (seeds, sentences) of one method."""


@dataclass(frozen=True)
class Component:
    """A variance and its 95 % interval; nothing is below 0, though an estimate of the analysis of variance can be."""

    variance: float
    low: float
    high: float


@dataclass(frozen=True)
class Components:
    """The three variances of a sentence's score."""

    seeds: Component
    sentences: Component
    interaction: Component

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of seeds, sentences and interaction in their sum; NaN where nothing varies."""
        variances = (self.seeds.variance, self.sentences.variance, self.interaction.variance)
        total = sum(variances)
        one, two, three = (variance / total if total else math.nan for variance in variances)
        return one, two, three


@dataclass(frozen=True)
class Crossed:
    """The analysis of variance of one method's scores."""

    mean: float
    seeds: MeanSquare
    sentences: MeanSquare
    interaction: MeanSquare
    counts: tuple[int, int]  # seeds, sentences

    @property
    def components(self) -> Components:
        """(mean square - interaction) / count for seeds and sentences, each with its interval."""
        seeds, sentences = self.counts
        residual = self.interaction.value, self.interaction.freedom
        low, high = (residual[0] / f_quantile(p, residual[1], math.inf) for p in (1 - LEVEL / 2, LEVEL / 2))
        return Components(
            _component(self.seeds, self.interaction, sentences),
            _component(self.sentences, self.interaction, seeds),
            Component(residual[0], low, high),
        )


def take_apart(scores: Scores) -> Crossed:
    """The analysis of variance of scores, one row a seed. DataError: one seed, one sentence, or a score is missing."""
    check_scores(scores)
    seeds, sentences = scores.shape
    mean = float(scores.mean())
    by_seed, by_sentence = scores.mean(axis=1, keepdims=True), scores.mean(axis=0, keepdims=True)
    rest = scores - by_seed - by_sentence + mean
    freedom = (seeds - 1) * (sentences - 1)
    return Crossed(
        mean,
        MeanSquare(sentences * float(np.var(by_seed, ddof=1)), seeds - 1),
        MeanSquare(seeds * float(np.var(by_sentence, ddof=1)), sentences - 1),
        MeanSquare(float((rest**2).sum()) / freedom, freedom),
        (seeds, sentences),
    )


def difference_on_sentences(first: Scores, second: Scores) -> Estimate:
    """How much higher the second method scores a sentence, for new seeds of both and for new sentences.

    Seeds are nested in methods (seed 1 of one has nothing in common with seed 1 of the other), sentences are crossed
    with them. The squared error of the difference of the means has these terms, each with its own mean square:

        S1 / k1 + I1 / (k1 n)   the first method's seeds: its mean square of seeds / (k1 n)
        S2 / k2 + I2 / (k2 n)   the second's
        M / n                   sentences that suit one method better than the other: the variance over sentences of the
                                difference of the two methods' means of a sentence, / n; this holds I1 / (k1 n) and
                                I2 / (k2 n) once more, so the mean squares of interaction / (k n) are taken away

    Sentences that are easy for both cancel. Leaving out the first two would be the common test over texts, which says
    nothing of other seeds; leaving out the third, a test for these texts alone (Clark, "The language-as-fixed-effect
    fallacy", 1973; Barr et al., "Random effects structure for confirmatory hypothesis testing", 2013: a factor over
    which one generalises needs its random slope, here M). Where a seed's mean square is below its interaction, the
    variance between seeds is taken as zero, not as negative. Degrees of freedom: Satterthwaite (1946).
    DataError: one seed or one sentence, or other sentences.
    """
    one, other = take_apart(first), take_apart(second)
    sentences = one.counts[1]
    if other.counts[1] != sentences:
        raise DataError(
            f"scores of {sentences:,} sentences cannot be compared with scores of {other.counts[1]:,}",
            hint="score both methods on the same sentences",
            code="D136",
        )
    by_sentence = second.mean(axis=0) - first.mean(axis=0)
    slopes = MeanSquare(float(np.var(by_sentence, ddof=1)), sentences - 1)
    terms = [VarianceTerm(1 / sentences, slopes), *_seeds_terms(one), *_seeds_terms(other)]
    return satterthwaite(other.mean - one.mean, terms)


def check_scores(scores: Scores) -> None:
    """DataError unless there are two seeds, two sentences, and a number for each."""
    seeds, sentences = scores.shape
    check_seeds(seeds)
    if sentences < 2 or not np.isfinite(scores).all():
        raise DataError(
            f"the scores of {sentences} sentence(s) cannot be taken apart",
            why="" if sentences < 2 else "some of them are no numbers",
            hint="score two sentences or more, each with every seed",
            code="D137",
        )


def _seeds_terms(one: Crossed) -> list[VarianceTerm]:
    """S / k, as (mean square of seeds - interaction) / (k n); nothing where that is negative."""
    cells = one.counts[0] * one.counts[1]
    if one.seeds.value <= one.interaction.value:
        return []
    return [VarianceTerm(1 / cells, one.seeds), VarianceTerm(-1 / cells, one.interaction)]


def _component(square: MeanSquare, interaction: MeanSquare, count: int) -> Component:
    """A variance with the interval of Ting et al., "Confidence intervals on linear combinations of variance components
    that are unrestricted in sign" (1990), as in Burdick and Graybill, "Confidence Intervals on Variance Components"
    (1992), 3.3: for a difference of two mean squares of very different degrees of freedom.
    """
    (larger, freedom), (smaller, rest) = square, interaction
    tail = LEVEL / 2

    def bound(upper: bool) -> float:
        p, q = (tail, 1 - tail) if upper else (1 - tail, tail)
        own = abs(1 - 1 / f_quantile(p, freedom, math.inf))
        other = abs(1 / f_quantile(q, rest, math.inf) - 1)
        both = f_quantile(p, freedom, rest)
        mixed = ((both - 1) ** 2 - (own * both) ** 2 - other**2) / both
        squared = (own * larger) ** 2 + (other * smaller) ** 2 + mixed * larger * smaller
        half = math.sqrt(max(0.0, squared))
        return (larger - smaller + (half if upper else -half)) / count

    return Component(max(0.0, (larger - smaller) / count), max(0.0, bound(False)), max(0.0, bound(True)))
