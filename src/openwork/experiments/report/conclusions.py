"""The first section of a report: its conclusions in plain words, each by a rule from the results and their tests."""

from collections.abc import Iterator, Sequence

import numpy as np

from openwork.base.messages import msg
from openwork.experiments.plan import OWN, settings_of
from openwork.experiments.report.curves import all_curves, head_losses
from openwork.experiments.report.differences import AllTests
from openwork.experiments.report.document import ReportSection, between, signed
from openwork.experiments.report.findings import Protocol, Ranking, with_reference
from openwork.experiments.report.results import Arm, ExperimentResults
from openwork.experiments.search.spaces import setting_text
from openwork.metrics.estimates import LEVEL, MethodDifference, mean_with_interval

GAINS = (
    *(msg("the structure alone"), msg("its own settings"), msg("the baseline's own settings")),
    *(msg("structure and settings together"), msg("their interaction")),
)
"""The gains of a protocol in their order, for a sentence."""


def found_section(results: ExperimentResults, tests: AllTests) -> ReportSection | None:
    """The conclusions; None where there is none."""
    sentences = list(_conclusions(results, tests))
    return ReportSection(msg("What was found"), sentences) if sentences else None


def _conclusions(results: ExperimentResults, tests: AllTests) -> Iterator[str]:
    if not results.trials:
        yield msg("No trial has a result yet: there is nothing to compare.")
        return
    if all(trial.score is None for trial in results.trials):
        yield msg(f"None of the {len(results.trials)} trials has finished with a figure: there is nothing to compare.")
        return
    for protocol in tests.protocols:
        yield from _gains(protocol)
    yield from _best_settings(results)
    if results.kind == "heads":
        yield from _of_heads(results)
    elif tests.main is None and results.is_searched:
        yield msg("The other settings have one seed each, so that the best ones are better is not tested.")
    elif tests.main is None:
        yield msg("No two variants have two seeds each, so no difference between variants can be tested.")
    else:
        yield from _of_ranking(tests, tests.main, results.sign)
    yield from _of_curves(results)


def _best_settings(results: ExperimentResults) -> Iterator[str]:
    """What each search has found: the settings that were trained with the most seeds, of those the best."""
    searched: dict[tuple[str, str | None], list[Arm]] = {}
    for arm in results.arms if results.is_searched else ():
        if arm.scores and arm.settings and arm.group in (None, OWN, settings_of(arm.variant)):
            searched.setdefault((arm.variant, arm.group), []).append(arm)
    for arms in searched.values():
        best = max(arms, key=lambda arm: (len(arm.scores), results.sign * float(np.mean(arm.scores))))
        group = f" ({best.group})" if best.group else ""
        yield msg(f"The best settings of {best.variant}{group}: {setting_text(best.settings)}.")


def _gains(protocol: Protocol) -> Iterator[str]:
    """The gains of a structure over a baseline, a sentence each."""
    for name, gain in zip(GAINS, protocol.gains, strict=True):
        if gain.estimate is not None:
            value, interval = signed(gain.estimate.value), between(gain.estimate.low, gain.estimate.high)
            shown = msg("shown by the test") if gain.adjusted < LEVEL else msg("not shown by the test")
            yield msg(f"{protocol.structure} against {protocol.baseline}, {name}: {value} ({interval}), {shown}.")


def _of_ranking(tests: AllTests, found: Ranking, sign: int) -> Iterator[str]:
    """What is best, what is tied with it, and what is shown to differ."""
    yield msg(f"{found.best} has the highest mean.") if sign > 0 else msg(f"{found.best} has the lowest mean.")
    tied = [name for name in found.scores if name in found.tied and name != found.best]
    if tied:
        yield msg(f"No difference was shown between {found.best} and: {', '.join(tied)}.")
    if shown := _listed(with_reference(found.best, found.comparisons)):
        yield msg(f"Shown to differ from {found.best}: {shown}.")
    if shown := _listed(tests.with_base):
        yield msg(f"Changes of {tests.base} that are shown to cost or to gain: {shown}.")
    yield msg("These sentences hold for new seeds and for the texts that were scored.")
    name = tests.base or found.best
    if hidden := [one.second for one in with_reference(name, tests.on_new_texts) if not one.is_shown]:
        yield msg(f"For other texts like these, no difference is shown between {name} and: {', '.join(hidden)}.")


def _listed(comparisons: Sequence[MethodDifference]) -> str:
    """Those that are shown, each with its difference."""
    return ", ".join(f"{one.second} ({signed(one.estimate.value)})" for one in comparisons if one.is_shown)


def _of_heads(results: ExperimentResults) -> Iterator[str]:
    """Which attention needs its heads most, the head that matters most, and how many matter for nothing."""
    losses = head_losses(results)
    if not losses:
        yield msg("No model without a head was scored, so nothing can be said of heads.")
        return
    means = {name: [float(np.mean([*heads.values()])) for heads in seeds.values()] for name, seeds in losses.items()}
    needed = min(means, key=lambda name: results.sign * float(np.mean(means[name])))
    mean, interval = mean_with_interval(means[needed])
    change = f"{signed(mean)} ({between(*interval)})" if interval else signed(mean)
    yield msg(f"Heads of {needed} matter most: without one of them the score changes by {change} on average.")
    every = [
        (results.sign * change, name, head, seed)
        for name, seeds in losses.items() for seed, heads in seeds.items() for head, change in heads.items()
    ]  # fmt: skip
    change, name, head, seed = min(every)
    difference = signed(results.sign * change)
    yield msg(f"The single head that matters most is head {head} of {name} with seed {seed}: {difference}.")
    spared = sum(change >= 0 for change, *_ in every)
    yield msg(f"{spared} of {len(every)} heads can be removed, one at a time, without a loss on these texts.")


def _of_curves(results: ExperimentResults) -> Iterator[str]:
    """Where each curve has its best value, and what its worst costs."""
    for key, curves in all_curves(results):
        for curve in curves:
            means = [(results.sign * float(np.mean(arm.scores)), value) for value, arm in curve.points]
            best, worst = max(means), min(means)
            if best[0] > worst[0]:
                yield msg(
                    f"{curve.name}: {key} is best at {best[1]:g}; the worst value, {worst[1]:g}, costs "
                    f"{best[0] - worst[0]:.2f} on the validation texts."
                )
