"""What an experiment's results say of its arms: which differ, by which test, and what structure and tuning gain."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from openwork.base.messages import msg
from openwork.experiments.plan import OWN, settings_of
from openwork.experiments.report.published import BASELINE, SWAPPED, TUNED
from openwork.experiments.report.results import Arm, ExperimentResults
from openwork.metrics.estimates import (
    Estimate,
    MethodDifference,
    compare_all,
    contrast,
    corrected,
    difference_over_seeds,
    holm,
    tied_with,
)
from openwork.metrics.mixed_model import difference_on_sentences
from openwork.metrics.significance import Difference, Effort, compare_statistic
from openwork.metrics.two_way_bootstrap import (
    CORPUS_METRICS,
    corpus_metric,
    mean_score,
    mean_statistics,
    resample,
    two_way_difference,
)

PAIRED = Effort(resamples=1000, trials=1000)  # of which the smallest p is 0.001


@dataclass(frozen=True)
class Ranking:
    """The arms on one set of texts: their seeds' scores, the best by mean, and the comparisons of all pairs."""

    scores: Mapping[str, Sequence[float]]
    best: str
    comparisons: Sequence[MethodDifference]

    @property
    def tied(self) -> set[str]:
        """The best arm, and those that no comparison tells from it."""
        return tied_with(self.best, self.scores, self.comparisons)


def ranking(results: ExperimentResults, *, tested: bool) -> Ranking | None:
    """The comparisons of all arms with two seeds or more, on the test set or the validation texts; None of one arm."""
    return rank({arm.name: [*arm.figures(tested=tested).values()] for arm in results.distinct}, results.sign)


def rank(scores: Mapping[str, Sequence[float]], sign: int) -> Ranking | None:
    """The same of scores by name. `sign` is -1 for a loss."""
    known = {name: list(values) for name, values in scores.items() if len(values) > 1}
    if len(known) < 2:
        return None
    return Ranking(known, ordered(known, sign)[0], compare_all(known))


def ordered(scores: Mapping[str, Sequence[float]], sign: int) -> list[str]:
    """The names by their means, the best first."""
    return sorted(scores, key=lambda name: -sign * float(np.mean(scores[name])))


def base_of(results: ExperimentResults) -> str | None:
    """The arm with which an ablation or a table compares the others; None unless there is just one.

    It is the variant that is marked as the baseline, without further settings; else the one that changes nothing.
    """
    marked = results.baselines if results.settings.experiment.kind == "factors" else ()
    changes = {arm.name: arm.settings if arm.variant in marked else results.changes(arm) for arm in results.distinct}
    known = [arm for arm in results.distinct if len(arm.scores) > 1 and (not marked or arm.variant in marked)]
    found = [arm.name for arm in known if not changes[arm.name]]
    return found[0] if len(found) == 1 else None


def against_base(base: str, scores: Mapping[str, Sequence[float]]) -> list[MethodDifference]:
    """Each arm less the base. The base is chosen before any data are seen, so these comparisons are a family alone."""
    known = {name: values for name, values in scores.items() if len(values) > 1}
    return corrected({pair: difference_over_seeds(*map(known.__getitem__, pair)) for pair in _pairs(known, base)})


def on_new_texts(results: ExperimentResults, base: str | None, *, by_bootstrap: bool) -> list[MethodDifference]:
    """The arms whose sentences of the test set were kept, for new seeds and new texts: all pairs, or with the base.

    By the mixed model on sentence scores, or by the bootstrap on the corpus score where that is no mean of sentences.
    """
    if not by_bootstrap:
        scores = {arm.name: table for arm in results.distinct if (table := arm.sentences) is not None}
        found = {
            (one, other): difference_on_sentences(scores[one], scores[other]) for one, other in _pairs(scores, base)
        }
        return corrected(found)
    if results.metric not in CORPUS_METRICS:
        return []
    score = corpus_metric(results.metric).score
    drawn = {arm.name: resample(table, score) for arm in results.distinct if (table := arm.statistics) is not None}
    return corrected({(one, other): two_way_difference(drawn[one], drawn[other]) for one, other in _pairs(drawn, base)})


def _pairs(names: Iterable[str], base: str | None) -> list[tuple[str, str]]:
    """The base with each other one; all pairs where there is no base, none where it is not among the names."""
    names = list(names)
    if base is None:
        return list(combinations(names, 2))
    return [(base, name) for name in names if name != base and base in names]


def with_reference(name: str, comparisons: Iterable[MethodDifference]) -> list[MethodDifference]:
    """The comparisons of this arm, each as how far the other one is above it."""
    return [_turned(one, name) for one in comparisons if name in (one.first, one.second)]


def _turned(one: MethodDifference, name: str) -> MethodDifference:
    if one.first == name:
        return one
    estimate = Estimate(-one.estimate.value, one.estimate.error, one.estimate.freedom)
    return MethodDifference(name, one.first, estimate, one.adjusted)


def two_systems(results: ExperimentResults, found: Ranking) -> tuple[str, str, Difference] | None:
    """The paired tests of two given systems: of the two best arms by validation, the trials with the best figure.

    Validation chose the systems, so that the test set judges what it has not chosen. None without kept sentences.
    """
    order = ordered(found.scores, results.sign)[:2]
    systems = []
    for name in order:
        arm = next(arm for arm in results.arms if arm.name == name)
        kept = [
            (results.sign * (trial.score or 0.0), trial.test)
            for trial in arm.counted
            if trial.test and (trial.test.statistics or trial.test.sentences)
        ]
        if not kept:
            return None
        systems.append(max(kept, key=lambda one: one[0])[1])
    whole = results.metric in CORPUS_METRICS and all(one.statistics for one in systems)
    rows = [
        np.array(one.statistics, np.float64) if whole else mean_statistics(np.array(one.sentences, np.float64))
        for one in systems
    ]
    if len(rows[0]) != len(rows[1]):
        return None
    both, score = np.concatenate(rows), corpus_metric(results.metric).score if whole else mean_score

    def statistic(chosen: NDArray[np.intp]) -> float:
        return float(score(both[chosen].sum(axis=0))) / 100

    return order[0], order[1], compare_statistic(results.metric, statistic, len(rows[0]), PAIRED)


@dataclass(frozen=True)
class Gain:
    """One line of the protocol: what is compared, its estimate, and its p corrected for all gains of the report.

    `without` is the value without the seed that chose the settings, which flatters what it has chosen; `published` is
    the documents' figure, where there is one.
    """

    words: str
    estimate: Estimate | None
    without: float | None = None
    published: float | None = None
    adjusted: float = math.nan


@dataclass(frozen=True)
class Protocol:
    """A structure against a baseline: the gains of structure and tuning."""

    baseline: str
    structure: str
    gains: Sequence[Gain]


def protocols(results: ExperimentResults, *, tested: bool) -> list[Protocol]:
    """Section 9.1 of the documents for each baseline and each other structure; `tested`: on the test set."""
    found = []
    structures = [name for name in dict.fromkeys(arm.variant for arm in results.arms) if name not in results.baselines]
    for baseline, structure in product(results.baselines, structures):
        given = settings_of(baseline)
        corners = [(baseline, given), (structure, given), (structure, OWN), (baseline, OWN)]
        arms = [_cell(results, *corner, tested) for corner in corners]
        if sum(arm is not None for arm in arms) > 1:
            found.append(Protocol(baseline, structure, _gains(results, arms, tested)))
    family = [gain.estimate.p if gain.estimate else math.nan for one in found for gain in one.gains]
    adjusted = iter(holm(family))
    return [replace(one, gains=[replace(gain, adjusted=next(adjusted)) for gain in one.gains]) for one in found]


def _cell(results: ExperimentResults, variant: str, group: str, tested: bool) -> Arm | None:
    """The arm of a structure in a group that was trained with the most seeds: the search's best."""
    arms = [arm for arm in results.arms if (arm.variant, arm.group) == (variant, group)]
    arms = [arm for arm in arms if len(arm.figures(tested=tested)) > 1]
    return max(arms, key=lambda arm: len(arm.figures(tested=tested)), default=None)


def _gains(results: ExperimentResults, corners: Sequence[Arm | None], tested: bool) -> list[Gain]:
    """`corners`: the baseline and the structure with the baseline's settings, the structure and the baseline with own.

    The documents (9.1.2, 9.1.3) have no fourth corner.
    """
    base, swapped, own, base_own = corners
    gains = (
        (msg("structure alone: the baseline's best settings for both"), (base, swapped), SWAPPED - BASELINE),
        (msg("tuning of the structure: its own settings against the baseline's"), (swapped, own), TUNED - SWAPPED),
        (msg("tuning of the baseline: its own settings as well"), (base, base_own), None),
        (msg("structure and tuning: both with their own best settings"), (base_own or base, own), TUNED - BASELINE),
        (msg("interaction: how much more the tuning gives the structure than the baseline"),
         (swapped, own, base_own, base), None),
    )  # fmt: skip
    return [Gain(words, *_step(results, arms, tested), published) for words, arms, published in gains]


def _step(results: ExperimentResults, arms: Sequence[Arm | None], tested: bool) -> tuple[Estimate | None, float | None]:
    """The second arm less the first, plus the fourth less the third; the same without the seed that chose.

    None where a corner is missing. Corners that are the same trainings under two names cancel, for nothing varies
    between them.
    """
    known = [arm for arm in arms if arm is not None]
    if len(known) < len(arms):
        return None, None
    weights: dict[tuple[int, ...], float] = {}
    for arm, weight in zip(known, (-1, 1, -1, 1), strict=False):
        weights[arm.trainings] = weights.get(arm.trainings, 0.0) + results.sign * weight
    figures = {arm.trainings: arm.figures(tested=tested) for arm in known}
    cells = [(weight, figures[key]) for key, weight in weights.items() if weight]
    others = [
        (weight, [one for seed, one in by_seed.items() if seed != results.choosing_seed]) for weight, by_seed in cells
    ]
    without = (
        sum(weight * float(np.mean(values)) for weight, values in others) if all(one for _, one in others) else None
    )
    if not cells:
        return Estimate(0.0, 0.0, math.inf), 0.0
    return contrast([(weight, [*by_seed.values()]) for weight, by_seed in cells]), without
