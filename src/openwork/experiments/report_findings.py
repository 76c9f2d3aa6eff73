"""What an experiment's results say of its arms: which differ, by which test, and what structure and tuning gain."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from openwork.base.messages import msg
from openwork.experiments.report_published import BASELINE, SWAPPED, TUNED
from openwork.experiments.report_results import Arm, ExperimentResults
from openwork.metrics.estimates import (
    Estimate,
    MethodDifference,
    compare_all,
    contrast,
    corrected,
    difference_over_seeds,
    tied_with,
)
from openwork.metrics.mixed_model import difference_on_sentences
from openwork.metrics.significance import Difference, Effort, compare_statistic
from openwork.metrics.two_way_bootstrap import corpus_metric, resample, two_way_difference

OWN, SETTINGS_OF = "own settings", "settings of "  # how the protocol names its groups
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

    @property
    def with_best(self) -> list[MethodDifference]:
        """The comparisons of the best arm, each as how far the other is above it."""
        return [_from(self.best, one) for one in self.comparisons if self.best in (one.first, one.second)]


def ranking(scores: Mapping[str, Sequence[float]], sign: int) -> Ranking | None:
    """The comparisons of all arms with two seeds or more; None of fewer than two. `sign` is -1 for a loss."""
    known = {name: list(values) for name, values in scores.items() if len(values) > 1}
    if len(known) < 2:
        return None
    best = max(known, key=lambda name: sign * float(np.mean(known[name])))
    return Ranking(known, best, compare_all(known))


def ranking_on_validation(results: ExperimentResults) -> Ranking | None:
    """On the validation texts."""
    return ranking({arm.name: arm.scores for arm in results.arms}, results.sign)


def ranking_on_test(results: ExperimentResults) -> Ranking | None:
    """On the test set."""
    return ranking({arm.name: arm.test_scores for arm in results.arms}, results.sign)


def base_arm(results: ExperimentResults) -> Arm | None:
    """The arm that changes nothing, with which an ablation compares the others; None unless there is just one."""
    found = [arm for arm in results.compared if not arm.settings and not results.changed_by(arm.variant)]
    return found[0] if len(found) == 1 else None


def against_base(base: str, scores: Mapping[str, Sequence[float]]) -> list[MethodDifference]:
    """Each arm less the base. The base is chosen before any data are seen, so these comparisons are a family alone."""
    known = {name: values for name, values in scores.items() if len(values) > 1 and name != base}
    if len(scores.get(base, ())) < 2:
        return []
    return corrected({(base, name): difference_over_seeds(scores[base], values) for name, values in known.items()})


def on_new_texts(results: ExperimentResults, *, by_bootstrap: bool) -> list[MethodDifference]:
    """All pairs of arms whose sentences of the test set were kept, for new seeds and new texts.

    By the mixed model on sentence scores, or by the bootstrap on the corpus score where that is no mean of sentences.
    """
    if by_bootstrap and results.metric not in ("bleu", "chrf"):
        return []
    if not by_bootstrap:
        scores = {arm.name: table for arm in results.arms if (table := arm.sentences) is not None}
        pairs = combinations(scores, 2)
        return corrected({(one, other): difference_on_sentences(scores[one], scores[other]) for one, other in pairs})
    score = corpus_metric(results.metric).score
    drawn = {arm.name: resample(table, score) for arm in results.arms if (table := arm.statistics) is not None}
    pairs = combinations(drawn, 2)
    return corrected({(one, other): two_way_difference(drawn[one], drawn[other]) for one, other in pairs})


def two_systems(results: ExperimentResults, found: Ranking) -> tuple[str, str, Difference] | None:
    """The paired tests of two given systems: of the two best arms by validation, the trials with the best figure.

    Validation chose the systems, so that the test set judges what it has not chosen. None without kept sentences.
    """
    order = sorted(found.scores, key=lambda name: -results.sign * float(np.mean(found.scores[name])))[:2]
    systems = []
    for name in order:
        arm = next(arm for arm in results.arms if arm.name == name)
        kept = [trial for trial in arm.counted if trial.test and (trial.test.statistics or trial.test.sentences)]
        if not kept:
            return None
        systems.append(max(kept, key=lambda trial: results.sign * (trial.score or 0.0)).test)
    whole = results.metric in ("bleu", "chrf") and all(one.statistics for one in systems)
    rows = [np.array(one.statistics if whole else one.sentences, np.float64) for one in systems]
    if len(rows[0]) != len(rows[1]):
        return None
    both = np.concatenate(rows)
    score = corpus_metric(results.metric).score if whole else np.mean
    name = results.metric

    def statistic(chosen: np.ndarray) -> float:
        return float(score(both[chosen].sum(axis=0) if whole else both[chosen])) / 100

    return order[0], order[1], compare_statistic(name, statistic, len(rows[0]), PAIRED)


@dataclass(frozen=True)
class Gain:
    """One line of the protocol: what is compared, its estimate, and the documents' figure for it where there is one."""

    words: str
    estimate: Estimate | None
    published: float | None = None


@dataclass(frozen=True)
class Protocol:
    """A structure against a baseline: the cells of the table structure x settings, and the gains."""

    baseline: str
    structure: str
    cells: Mapping[tuple[str, str], Arm]  # structure or baseline, and group
    gains: Sequence[Gain]


def protocols(results: ExperimentResults, *, tested: bool) -> list[Protocol]:
    """Section 9.1 of the documents for each baseline and each other structure; `tested`: on the test set."""
    found = []
    structures = [name for name in dict.fromkeys(arm.variant for arm in results.arms) if name not in results.baselines]
    for baseline in results.baselines:
        for structure in structures:
            given = SETTINGS_OF + baseline
            corners = [(baseline, given), (structure, given), (structure, OWN), (baseline, OWN)]
            cells = {corner: arm for corner in corners if (arm := _cell(results, *corner, tested)) is not None}
            if len(cells) > 1:
                gains = _gains([cells.get(corner) for corner in corners], results.sign, tested)
                found.append(Protocol(baseline, structure, cells, gains))
    return found


def _cell(results: ExperimentResults, variant: str, group: str, tested: bool) -> Arm | None:
    """The arm of a structure in a group that was trained with the most seeds: the search's best."""
    arms = [arm for arm in results.arms if (arm.variant, arm.group) == (variant, group)]
    arms = [arm for arm in arms if len(arm.test_scores if tested else arm.scores) > 1]
    return max(arms, key=lambda arm: len(arm.test_scores if tested else arm.scores), default=None)


def _gains(corners: Sequence[Arm | None], sign: int, tested: bool) -> list[Gain]:
    """`corners`: the baseline and the structure with the baseline's settings, the structure and the baseline with own.

    The documents (9.1.2, 9.1.3) have no fourth corner.
    """
    base, swapped, own, base_own = corners
    gains = (
        (msg("structure alone: the baseline's best settings for both"), (base, swapped), (), SWAPPED - BASELINE),
        (msg("tuning of the structure: its own settings against the baseline's"), (swapped, own), (), TUNED - SWAPPED),
        (msg("tuning of the baseline: its own settings as well"), (base, base_own), (), None),
        (msg("structure and tuning: both with their own best settings"), (base_own or base, own), (), TUNED - BASELINE),
        (msg("interaction: how much more the tuning gives the structure than the baseline"),
         (swapped, own), (base, base_own), None),
    )  # fmt: skip
    return [Gain(words, _step(up, down, sign, tested), figure) for words, up, down, figure in gains]


def _step(up: Sequence[Arm | None], down: Sequence[Arm | None], sign: int, tested: bool) -> Estimate | None:
    """(second - first) of `up`, less the same of `down`; None where a corner is missing.

    Corners that are the same trainings under two names cancel, for nothing varies between them.
    """
    weights: dict[tuple[int, ...], float] = {}
    scores: dict[tuple[int, ...], Sequence[float]] = {}
    for arm, weight in zip((*up, *down), (-1, 1, 1, -1), strict=False):
        if arm is None:
            return None
        weights[arm.trainings] = weights.get(arm.trainings, 0.0) + sign * weight
        scores[arm.trainings] = arm.test_scores if tested else arm.scores
    cells = [(weight, scores[key]) for key, weight in weights.items() if weight]
    return contrast(cells) if cells else Estimate(0.0, 0.0, math.inf)


def _from(best: str, one: MethodDifference) -> MethodDifference:
    """The comparison as the other arm less the best one."""
    if one.first == best:
        return one
    turned = Estimate(-one.estimate.value, one.estimate.error, one.estimate.freedom)
    return MethodDifference(best, one.first, turned, one.adjusted)
