"""Sections of a report about its arms: their scores and cost, the trials that do not count, and what all of it took."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.experiments.report.document import (
    ReportFigure,
    ReportSection,
    ReportTable,
    between,
    counted,
    number,
    over_seeds,
)
from openwork.experiments.report.findings import Ranking
from openwork.experiments.report.results import Arm, ExperimentResults
from openwork.experiments.result import TrialResult
from openwork.experiments.search.spaces import setting_text
from openwork.inspection.intervals import IntervalChart, IntervalRow
from openwork.metrics.estimates import mean_with_interval
from openwork.metrics.mixed_model import Components, take_apart

MOST_SINGLE = 20  # arms with one seed that are shown
RULE = msg(
    "A trial counts where it has finished with a figure and has trained the whole budget. Failed trials, trials that "
    "were ended early and the short ones of a search are counted here, and are in no mean, interval or test."
)


def variants_section(results: ExperimentResults, validation: Ranking | None, test: Ranking | None) -> ReportSection:
    """The arms with two seeds or more, those with one, and a picture of both."""
    shown = [*results.compared] or list(results.arms)
    shown = [arm for arm in shown if arm.scores]
    single = [arm for arm in results.arms if len(arm.scores) == 1 and arm not in shown]
    parts: list[ReportTable | ReportFigure] = [_arms_table(results, shown, validation, test)]
    if shown:
        parts.append(_picture("variants", results, {arm.name: arm.scores for arm in shown}, msg("validation texts")))
    if tested := {arm.name: arm.test_scores for arm in shown if arm.test_scores}:
        parts.append(_picture("variants-test", results, tested, msg("test set")))
    distinct = [arm for arm in shown if arm.name in {one.name for one in results.distinct}]
    if parted := {arm.name: take_apart(table).components for arm in distinct if (table := arm.sentences) is not None}:
        parts.append(_variances_table(parted))
    if single:
        parts.append(_single_table(results, single))
    return ReportSection(msg("Variants"), [*_variants_sentences(results, shown)], parts)


def _variants_sentences(results: ExperimentResults, shown: Sequence[Arm]) -> Iterator[str]:
    """How the table is to be read, and what all arms share."""
    yield msg(
        "Intervals have 95 %, are of the mean over seeds, and hold for the texts that were scored. Tied (≈) are "
        "the best mean and every variant that no test distinguishes from it."
    )
    if results.sign < 0:
        yield msg("A lower figure is better.")
    if results.choosing_seed is not None:
        yield msg(
            f"The settings were chosen by the validation figures of seed {results.choosing_seed}. It flatters what it "
            "has chosen, on the validation texts most of all, and on the test set by as much as the training was lucky."
        )
    same = {key: value for key, value in results.changes(shown[0]).items() if key not in _differing(results, shown)}
    if same and len(shown) > 1:
        yield Joined("The same for all: ", AsIs(setting_text(same)))


def _arms_table(
    results: ExperimentResults, arms: Sequence[Arm], validation: Ranking | None, test: Ranking | None
) -> ReportTable:
    metric = results.metric_name
    texts = Joined(metric, ", ", msg("validation texts"))
    head = [msg("variant"), msg("settings that differ"), msg("seeds"), texts, msg("interval"), msg("tied")]
    is_tested = any(arm.test_scores for arm in arms)
    if is_tested:
        head += [Joined(metric, ", ", msg("test set")), msg("interval"), msg("tied")]
    head += [msg("weights"), msg("updates"), msg("core-hours"), msg("FLOPs")]
    differing, names = _differing(results, arms), {arm.trainings: arm.name for arm in results.distinct}
    rows = []
    for arm in arms:
        changes = {key: value for key, value in results.changes(arm).items() if key in differing}
        row = [AsIs(arm.name), AsIs(setting_text(changes)), counted(len(arm.scores))]
        row += _score_cells(names[arm.trainings], arm.scores, validation)
        if is_tested:
            row += _score_cells(names[arm.trainings], arm.test_scores, test)
        row += [counted(_typical(arm.counted, "weights")), counted(_typical(arm.counted, "updates"))]
        hours = [trial.core_hours for trial in arm.counted]
        row += [number(_total(hours)), counted(_total([trial.flops for trial in arm.counted]))]
        rows.append(row)
    note = msg(
        "Weights and updates are those of one training; core-hours and FLOPs those of all seeds together. A training "
        "that has two names costs once, under the first."
    )
    return ReportTable(msg("Means over seeds"), head, rows, note, frozenset({0, 1}))


def _score_cells(name: str, scores: Sequence[float], found: Ranking | None) -> list[str]:
    """Mean, interval, and whether it is tied with the best."""
    if not scores:
        return [number(None), "", ""]
    mean, interval = mean_with_interval(scores)
    mark = "≈" if found is not None and name in found.tied else ""
    return [number(mean), over_seeds(interval), AsIs(mark)]


def _picture(stem: str, results: ExperimentResults, scores: Mapping[str, Sequence[float]], texts: str) -> ReportFigure:
    rows = [IntervalRow(AsIs(name), values, *mean_with_interval(values)) for name, values in scores.items()]
    data = [
        [row.name, seed, value, row.mean, *(row.interval or ("", ""))]
        for row in rows for seed, value in enumerate(row.values, start=1)
    ]  # fmt: skip
    columns = ("variant", "training", results.metric, "mean", "low", "high")
    note = msg("Dots are single trainings, the bar is their mean with its 95 % interval over seeds.")
    chart = IntervalChart(Joined(results.metric_name, ", ", texts), results.metric_name, tuple(rows))
    return ReportFigure(stem, chart, columns, data, note)


def _variances_table(parted: Mapping[str, Components]) -> ReportTable:
    """The variance of a sentence's score, divided: shares, and standard deviations with their intervals."""
    columns = [msg("variant")]
    for name in (msg("between seeds"), msg("between sentences"), msg("interaction")):
        columns += ["%", name, msg("interval")]
    rows = []
    for name, found in parted.items():
        parts = zip(found.shares, (found.seeds, found.sentences, found.interaction), strict=True)
        cells = [
            cell for share, part in parts
            for cell in (number(100 * share, 1), number(part.variance**0.5), between(part.low**0.5, part.high**0.5))
        ]  # fmt: skip
        rows.append([AsIs(name), *cells])
    note = msg(
        "Shares of the variance, and standard deviations in points of the score with their 95 % intervals: analysis of "
        "variance of seeds crossed with sentences. The interaction: which sentences go well changes from seed to seed. "
        "The wide intervals between seeds say how little few seeds know of it."
    )
    return ReportTable(msg("What the score of a sentence varies with, on the test set"), columns, rows, note)


def _single_table(results: ExperimentResults, arms: Sequence[Arm]) -> ReportTable:
    ordered = sorted(arms, key=lambda arm: -results.sign * arm.scores[0])[:MOST_SINGLE]
    rows = [[AsIs(arm.name), AsIs(setting_text(arm.settings)), number(arm.scores[0])] for arm in ordered]
    note = msg(
        f"The {len(rows)} best of {len(arms)} trials of a search; with one seed each, their order is not tested."
    )
    columns = [msg("variant"), msg("settings"), results.metric_name]
    return ReportTable(msg("Settings with one seed"), columns, rows, note, frozenset({0, 1}))


def trials_section(results: ExperimentResults) -> ReportSection:
    """How many trials finished, failed and were ended early, the rule, and why those failed."""
    states = Counter(trial.state for trial in results.trials)
    without = [trial for trial in results.trials if trial.state == "finished" and trial.figure is None]
    short = [trial for trial in results.trials if trial.short and trial.figure is not None]
    sentences = [
        msg(
            f"{states['finished']} trials have finished, {states['failed']} have failed, {states['pruned']} were ended "
            f"early, {len(without)} finished without a figure."
        ),
        RULE,
    ]
    if short:
        sentences.insert(1, msg(f"{len(short)} of them are short: they chose the settings, with a seed of their own."))
    lost = [trial for trial in results.trials if trial.score is None]
    if not lost:
        return ReportSection(msg("Trials that do not count"), sentences)
    rows = [
        [counted(trial.number), AsIs(trial.variant), counted(trial.seed), AsIs(setting_text(trial.settings)),
         _why_not(trial), number(trial.validation.get(trial.metric)), _problem(trial)]
        for trial in lost
    ]  # fmt: skip
    columns = [msg("trial"), msg("variant"), msg("seed"), msg("settings"), msg("state"), results.metric_name]
    columns.append(msg("problem"))
    table = ReportTable(msg("Trials that do not count"), columns, rows, "", frozenset({0, 1, 3, 4, 6}))
    return ReportSection(msg("Trials that do not count"), sentences, [table])


def cost_section(results: ExperimentResults) -> ReportSection:
    """Machines, core-hours and FLOPs of all trials, those that do not count included."""
    machines = Counter(trial.machine for trial in results.trials if trial.machine)
    rows = [
        [label, counted(len(trials)), number(_total([trial.core_hours for trial in trials])),
         number(_total([None if trial.seconds is None else trial.seconds / 3600 for trial in trials])),
         counted(_total([trial.flops for trial in trials]))]
        for label, trials in (
            (msg("trials that count"), [trial for trial in results.trials if trial.score is not None]),
            (msg("trials that do not count"), [trial for trial in results.trials if trial.score is None]),
            (msg("all trials"), list(results.trials)),
        )
        if trials
    ]  # fmt: skip
    columns = [msg("trials"), msg("number"), msg("core-hours"), msg("hours"), msg("FLOPs")]
    sentences = [Joined(msg("machine"), ": ", AsIs(f"{name} ({times})")) for name, times in machines.items()]
    if results.budget:
        sentences.append(Joined(msg("budget of each trial"), ": ", AsIs(setting_text(results.budget))))
    return ReportSection(msg("Cost"), sentences, [ReportTable(msg("What the trials took"), columns, rows)])


def _differing(results: ExperimentResults, arms: Sequence[Arm]) -> set[str]:
    """The settings that are not the same for all arms; of a single arm all."""
    changes = [results.changes(arm) for arm in arms]
    keys = {key for one in changes for key in one}
    return {key for key in keys if len(arms) == 1 or len({repr(one.get(key)) for one in changes}) > 1}


def _why_not(trial: TrialResult) -> str:
    """Why the trial does not count."""
    if trial.state == "finished":
        return msg("no figure") if trial.figure is None else msg("short")
    return msg("ended early") if trial.state == "pruned" else msg("failed")


def _problem(trial: TrialResult) -> str:
    problem = trial.problem
    if problem is None:
        return ""
    return Joined(problem.what, " (", problem.why, ")") if problem.why else problem.what


def _typical(trials: Sequence[TrialResult], name: str) -> float | None:
    known = [value for trial in trials if (value := getattr(trial, name)) is not None]
    return float(np.median(known)) if known else None


def _total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
