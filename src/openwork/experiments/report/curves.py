"""Sections of a report with curves: the sensitivity to a setting, and the heads that a model can lose."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.experiments.report.document import (
    ReportFigure,
    ReportSection,
    ReportTable,
    counted,
    number,
    over_seeds,
    signed,
)
from openwork.experiments.report.published import published_score
from openwork.experiments.report.results import Arm, ExperimentResults
from openwork.experiments.search.spaces import Value
from openwork.inspection.intervals import IntervalChart, IntervalRow
from openwork.inspection.plots import Chart, Series
from openwork.metrics.estimates import mean_with_interval

RATIOS = 20  # values this far apart are shown on a logarithmic axis


class CurvePoint(NamedTuple):
    """One value of a setting, and the arm that has it."""

    value: float
    arm: Arm


@dataclass(frozen=True)
class SensitivityCurve:
    """The points of one variant with all other settings the same, by value."""

    name: str
    variant: str
    points: Sequence[CurvePoint]


def sensitivity_section(results: ExperimentResults) -> ReportSection | None:
    """A curve for each setting with two numbers or more, as the experiment varied it; None where there is none."""
    found = all_curves(results)
    if not found:
        return None
    parts = [
        part for key, curves in found for part in (_curve_figure(results, key, curves), _table(results, key, curves))
    ]
    sentence = msg(
        "The band of a curve is the 95 % interval of each mean over seeds, on the validation texts. Bands of single "
        "points are no test of two of them; the tables of differences are."
    )
    return ReportSection(msg("Sensitivity"), [sentence], parts)


def all_curves(results: ExperimentResults) -> list[tuple[str, list[SensitivityCurve]]]:
    """The curves of each setting that the experiment varied; none of a search, which compares its best alone."""
    varied = dict.fromkeys(key for arm in results.arms for key in arm.settings) if results.kind == "factors" else ()
    return [(key, curves) for key in varied if (curves := curves_of(results, key))]


def curves_of(results: ExperimentResults, key: str) -> list[SensitivityCurve]:
    """The curves of a setting: arms that differ in nothing else belong together."""
    kept: dict[tuple[str, str], list[CurvePoint]] = {}
    for arm in results.arms:
        value = arm.settings.get(key)
        if arm.scores and isinstance(value, int | float) and not isinstance(value, bool):
            others = {name: one for name, one in arm.settings.items() if name != key}
            kept.setdefault((arm.variant, json.dumps(others, sort_keys=True)), []).append(CurvePoint(value, arm))
    return [
        SensitivityCurve(_curve_name(variant, json.loads(others)), variant, sorted(points, key=lambda one: one.value))
        for (variant, others), points in kept.items()
        if len(points) > 1
    ]


def _curve_name(variant: str, others: Mapping[str, Value]) -> str:
    return ", ".join([variant, *(f"{key.rpartition('.')[2]} = {value}" for key, value in others.items())])


def _curve_figure(results: ExperimentResults, key: str, curves: Sequence[SensitivityCurve]) -> ReportFigure:
    series, data = [], []
    for curve in curves:
        points = [(value, len(arm.scores), *mean_with_interval(arm.scores)) for value, arm in curve.points]
        band = [(value, *interval) for value, _, _, interval in points if interval]
        series.append(Series(AsIs(curve.name), [(value, mean) for value, _, mean, _ in points], band))
        data += [[curve.name, value, mean, *(interval or ("", "")), seeds] for value, seeds, mean, interval in points]
    values = [point.value for curve in curves for point in curve.points]
    logarithmic = min(values) > 0 and max(values) / min(values) >= RATIOS

    chart = Chart(AsIs(key), AsIs(key), results.metric_name, tuple(series), log_x=logarithmic)
    stem = "sensitivity-" + "".join(one if one.isalnum() else "-" for one in key.lower())
    columns = ("variant", key, "mean", "low", "high", "seeds")
    return ReportFigure(stem, chart, columns, data)


def _table(results: ExperimentResults, key: str, curves: Sequence[SensitivityCurve]) -> ReportTable:
    rows = []
    for curve in curves:
        best = max(results.sign * float(np.mean(point.arm.scores)) for point in curve.points)
        said = [published_score(curve.variant, key, point.value) for point in curve.points]
        best_said = max((one for one in said if one is not None), default=None)
        for (value, arm), figure in zip(curve.points, said, strict=True):
            mean, interval = mean_with_interval(arm.scores)
            below = number(None) if figure is None or best_said is None else signed(figure - best_said, 1)
            cells = [number(mean), over_seeds(interval), counted(len(arm.scores)), signed(results.sign * mean - best)]
            rows.append([AsIs(curve.name), AsIs(f"{value:g}"), *cells, number(figure, 1), below])
    columns = [
        *(msg("variant"), AsIs(key), results.metric_name, msg("interval"), msg("seeds"), msg("below its best")),
        *(msg("documents"), msg("documents, below their best")),
    ]
    note = msg("The documents' figures (9.2.1) are BLEU of WMT 2014, without a source; a dash: they have none.")
    return ReportTable(AsIs(key), columns, rows, note)


def head_losses(results: ExperimentResults) -> dict[str, dict[int, dict[str, float]]]:
    """Attention -> seed -> head -> difference from the whole model; empty of other experiments."""
    wholes, losses = _whole_models(results), dict[str, dict[int, dict[str, float]]]()
    for arm in results.arms if results.kind == "heads" else ():
        for trial in arm.counted if arm.settings and arm.group else ():
            if (whole := wholes.get(trial.seed)) is not None and trial.score is not None:
                head = str(next(iter(arm.settings.values()))).rpartition(".")[2]
                losses.setdefault(arm.group or "", {}).setdefault(trial.seed, {})[head] = trial.score - whole
    return losses


def _whole_models(results: ExperimentResults) -> dict[int, float]:
    """Seed -> score of the model with all its heads."""
    arms = [arm for arm in results.arms if not arm.settings]
    return {trial.seed: trial.score for arm in arms for trial in arm.counted if trial.score is not None}


def heads_section(results: ExperimentResults) -> ReportSection | None:
    """What a trained model loses without one of its heads; None of other experiments.

    The whole model of a seed is compared with itself, so differences are taken seed by seed. Head 1 of one training has
    nothing in common with head 1 of another, so means over seeds are those of an attention's heads together.
    """
    losses = head_losses(results)
    if not losses:
        return None
    rows, drawn, data = [], [], []
    for attention, by_seed in losses.items():
        means = [float(np.mean([*values.values()])) for values in by_seed.values()]
        every = [value for values in by_seed.values() for value in values.values()]
        mean, interval = mean_with_interval(means)
        heads = counted(max(map(len, by_seed.values())))
        cells = [heads, counted(len(by_seed)), signed(mean), over_seeds(interval)]
        rows.append([AsIs(attention), *cells, signed(min(every)), signed(max(every))])
        drawn.append(IntervalRow(AsIs(attention), every, mean, interval))
        data += [[attention, seed, *one] for seed, values in by_seed.items() for one in values.items()]
    columns = [
        *(msg("attention"), msg("heads"), msg("seeds"), msg("mean difference"), msg("interval")),
        *(msg("least"), msg("greatest")),
    ]
    title = msg("Difference from the whole model, without one head")
    chart = IntervalChart(title, results.metric_name, tuple(drawn))
    figure = ReportFigure("heads", chart, ("attention", "seed", "head", "difference"), data)
    sentence = msg(
        "Each model is compared with itself, on the same validation texts. Heads of several trainings have no common "
        "numbers, so what is averaged over seeds is the mean of an attention's heads."
    )
    whole = ", ".join(f"{seed}: {score:.2f}" for seed, score in sorted(_whole_models(results).items()))
    sentences = [sentence, Joined(msg("whole model, by seed"), ": ", AsIs(whole))]
    return ReportSection(msg("Removed heads"), sentences, [ReportTable(title, columns, rows), figure])
