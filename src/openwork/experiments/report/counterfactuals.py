"""What would have changed the conclusion of an experiment: one seed, no correction, the wrong test, the wrong texts.

All of it is computed from the results; a sentence stands only where it follows from them by a rule.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from openwork.base.messages import msg
from openwork.experiments.report.findings import Ranking, ordered
from openwork.experiments.report.results import ExperimentResults
from openwork.metrics.estimates import MethodDifference
from openwork.metrics.significance import Difference

MOST_SHOWN = 10  # names or pairs in a sentence


def single_seeds(found: Ranking, sign: int) -> Iterator[str]:
    """What an experiment with one seed would have found: its order, and how often the best mean comes first."""
    order = ordered(found.scores, sign)
    first = ordered({name: values[:1] for name, values in found.scores.items()}, sign)
    if first == order:
        yield msg("With the first seed alone the order of the means would have been the same.")
    else:
        yield msg(
            f"With the first seed alone the order would have been: {_listed(first)}; by the means: {_listed(order)}."
        )
    share = share_that_wins(found.best, found.scores, sign)
    yield msg(
        f"With one seed drawn for each, {found.best} would have come out first in {100 * share:.0f} % of the cases."
    )


def without_choosing_seed(results: ExperimentResults, found: Ranking, *, tested: bool) -> Iterator[str]:
    """Where the seed whose figures chose the settings decides the order: it flatters what it has chosen."""
    seed = results.choosing_seed
    figures = {arm.name: arm.figures(tested=tested) for arm in results.arms if arm.name in found.scores}
    others = {name: [one for at, one in by_seed.items() if at != seed] for name, by_seed in figures.items()}
    if seed is None or not all(others.values()):
        return
    order, without = ordered(found.scores, results.sign), ordered(others, results.sign)
    if order == without:
        yield msg(f"Without seed {seed}, which chose the settings, the order of the means would have been the same.")
    else:
        yield msg(f"Without seed {seed}, which chose the settings, the order would have been: {_listed(without)}.")


def share_that_wins(name: str, scores: Mapping[str, Sequence[float]], sign: int) -> float:
    """The probability that nothing is ahead of `name` where one seed of each is drawn."""
    others = [np.array(values) for other, values in scores.items() if other != name]
    chances = [np.prod([np.mean(sign * values <= sign * own) for values in others]) for own in scores[name]]
    return float(np.mean(chances))


def lost_by_correction(comparisons: Sequence[MethodDifference]) -> Iterator[str]:
    """The comparisons that look significant alone and are not as members of their family."""
    lost = [one for one in comparisons if one.lost_by_correction]
    if not lost:
        return
    yield msg(
        f"Without the correction for {len(comparisons)} comparisons, {len(lost)} more would have counted as "
        f"differences: {_pairs(lost)}."
    )


def of_other_texts(these: Sequence[MethodDifference], new: Sequence[MethodDifference]) -> Iterator[str]:
    """The differences that are shown on these texts, but not for other texts."""
    shown = {frozenset((one.first, one.second)) for one in new if one.is_shown}
    known = {frozenset((one.first, one.second)) for one in new}
    lost = [one for one in these if one.is_shown and frozenset((one.first, one.second)) in known - shown]
    if lost:
        yield msg(f"Shown on these texts, but not for other texts like these: {_pairs(lost)}.")


def of_two_systems(
    first: str, second: str, paired: Difference, comparisons: Sequence[MethodDifference]
) -> Iterator[str]:
    """Where the paired tests of one training of each contradict the test over seeds."""
    over_seeds = next((one for one in comparisons if {one.first, one.second} == {first, second}), None)
    if over_seeds is None or over_seeds.is_shown == paired.significant:
        return
    if paired.significant:
        yield msg(
            f"A test over texts alone, of one training of each, would have called {first} and {second} different; "
            "over the seeds no difference is shown."
        )
    else:
        yield msg(
            f"A test over texts alone, of one training of each, would not have found the difference of {first} and "
            f"{second} that the seeds show."
        )


def of_validation(validation: Ranking | None, test: Ranking | None) -> Iterator[str]:
    """Where the validation texts and the test set name another best."""
    if validation is not None and test is not None and validation.best != test.best:
        yield msg(f"By the validation figures {validation.best} is the best, on the test set {test.best}.")


def of_failures(results: ExperimentResults) -> Iterator[str]:
    """The arms of which trials failed or were pruned: their mean is of those that finished, which flatters it."""
    for arm in results.arms:
        counted, whole = len(arm.scores), [trial for trial in arm.trials if not trial.short]
        if 0 < counted < len({trial.seed for trial in whole}):
            yield msg(
                f"Of {arm.name} {len(whole) - counted} of {len(whole)} trials do not count: its mean is that "
                "of the others, which flatters it."
            )


def _listed(arms: Sequence[str]) -> str:
    shown = " > ".join(arms[:MOST_SHOWN])
    return f"{shown} > …" if len(arms) > MOST_SHOWN else shown


def _pairs(comparisons: Sequence[MethodDifference]) -> str:
    shown = ", ".join(f"{one.first} / {one.second}" for one in comparisons[:MOST_SHOWN])
    return f"{shown}, …" if len(comparisons) > MOST_SHOWN else shown
