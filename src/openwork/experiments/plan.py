"""What an experiment trains next: its parts, in the order in which they depend on each other.

A part is a list of points that are known beforehand, or a search that chooses its points one by one. Phases come one
after the other, since a later one depends on the best of an earlier one; the parts of one phase are independent. All
of it follows from the claims and results in the folder, so that an experiment that was killed goes on where it was.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from statistics import fmean

from openwork.base.errors import OpenworkError
from openwork.experiments.experiment import Experiment, Point
from openwork.experiments.folder import Board
from openwork.experiments.heads import HEAD, heads_of
from openwork.experiments.result import TrialResult
from openwork.experiments.search.spaces import Dimension, Value, grid_values
from openwork.experiments.search.strategies import Grid, Strategy, Tried
from openwork.experiments.settings import TRIALS

OWN = "own settings"  # the group of a structure with its own settings searched
WHOLE = "whole model"  # the variant of a model with all its heads


def settings_of(baseline: str) -> str:
    """The group of structures that have the best settings of a baseline."""
    return f"settings of {baseline}"


class PlanPart(ABC):
    """Some trials of an experiment."""

    @abstractmethod
    def is_done(self, board: Board) -> bool:
        """Whether all its trials are over."""

    @abstractmethod
    def planned(self, board: Board) -> int:
        """How many trials it has in all."""


@dataclass(frozen=True)
class PointList(PlanPart):
    """Points that are known."""

    points: Sequence[Point]

    def waiting(self, board: Board) -> Iterator[Point]:
        """The points that no trial was started for."""
        started = [claim.point for claim in board.claims.values()]
        return (point for point in self.points if point not in started)

    def is_done(self, board: Board) -> bool:
        claims = [board.claim_of(point) for point in self.points]
        return all(claim is not None and claim.number in board.results for claim in claims)

    def planned(self, board: Board) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Search(PlanPart):
    """A search for the best settings of a variant with one seed; `fixed` settings are those of all its points.

    `short`: its trials train a part of the budget.

    `trials`: at most so many; `strategy`: chooses them, in place of a sampler of Optuna.
    """

    variant: str
    group: str | None
    space: dict[str, Dimension]
    fixed: dict[str, Value]
    seed: int
    short: bool
    trials: int
    strategy: Strategy | None = None

    @property
    def study(self) -> str:
        """The name of its study in Optuna's storage."""
        return self.variant if self.group is None else f"{self.variant}, {self.group}"

    def point(self, params: dict[str, Value]) -> Point:
        return Point(self.variant, self.group, {**self.fixed, **params}, self.seed, self.short)

    def tried(self, board: Board) -> list[Tried]:
        """Its trials so far."""
        claims = board.of_study(self.study)
        over = [board.results.get(claim.number) for claim in claims]
        return [
            Tried(claim.params, result.figure if result else None, result is not None)
            for claim, result in zip(claims, over, strict=True)
        ]

    def is_full(self, board: Board) -> bool:
        """Whether no further trial is to begin."""
        tried = self.tried(board)
        return len(tried) >= self.trials or (self.strategy is not None and self.strategy.is_exhausted(tried))

    def is_done(self, board: Board) -> bool:
        return self.is_full(board) and all(claim.number in board.results for claim in board.of_study(self.study))

    def planned(self, board: Board) -> int:
        if self.is_full(board):
            return len(board.of_study(self.study))
        return min(self.trials, len(self.strategy.points)) if isinstance(self.strategy, Grid) else self.trials


Phases = Iterator[Sequence[PlanPart]]
MakeSearch = Callable[[str, str | None, dict[str, Dimension], dict[str, Value]], Search]


def phases(experiment: Experiment, board: Board, search: MakeSearch) -> Phases:
    """The parts of the experiment, phase by phase.

    A phase is only asked for when all earlier ones are done. OpenworkError where a phase has nothing to go on from.
    """
    match experiment.settings.experiment.kind:
        case "search":
            yield from _search_phases(experiment, board, search)
        case "factors":
            yield [PointList(factor_points(experiment))]
        case "protocol":
            yield from _protocol_phases(experiment, board, search)
        case "heads":
            yield from _head_phases(experiment, board)


def _search_phases(experiment: Experiment, board: Board, search: MakeSearch) -> Phases:
    yield [search(name, None, experiment.space_of(name), {}) for name in experiment.variants]
    yield [
        PointList(_with_all_seeds(experiment, _winner(experiment, board, name, None))) for name in experiment.variants
    ]


def factor_points(experiment: Experiment) -> list[Point]:
    """Every variant, with every value of every factor, with every seed; the seed changes slowest.

    So the first seed of all cells comes before the second of any, and a look at any moment compares like with like.
    """
    factors, seeds = experiment.settings.factors, experiment.settings.experiment.seeds
    cells: list[tuple[str | None, dict[str, Value]]] = []
    if factors.cross or not factors.values:
        cells = [(None, dict(zip(factors.values, chosen, strict=True))) for chosen in product(*factors.values.values())]
    else:
        cells = [(key, {key: value}) for key, values in factors.values.items() for value in values]
    return [Point(name, group, cell, seed) for seed in seeds for name in experiment.variants for group, cell in cells]


def _protocol_phases(experiment: Experiment, board: Board, search: MakeSearch) -> Phases:
    """Transformer 模型全景分析报告, section 9.1: baselines are tuned, structures exchanged, then each tuned alone."""
    variants, settings = experiment.variants, experiment.settings
    baselines = [name for name, variant in variants.items() if variant.baseline]
    yield [search(name, settings_of(name), settings.space, {}) for name in baselines]
    optima = {name: dict(_winner(experiment, board, name, settings_of(name)).settings) for name in baselines}
    others = [name for name in variants if name not in baselines]
    exchanged = [(name, settings_of(base), optima[base]) for base in baselines for name in [base, *others]]
    seeds = settings.experiment.seeds
    yield [PointList([Point(*cell, one) for one in seeds for cell in exchanged])]
    starts = {name: optima[name] for name in baselines}
    for name in others:
        found = [board.best(name, settings_of(base), seeds[0]) for base in baselines]
        best = max((one for one in found if one is not None), key=lambda one: one.figure or 0.0, default=None)
        starts[name] = dict(best.settings) if best is not None else optima[baselines[0]]
    searched = settings.search_seed, settings.has_short_searches
    yield [PointList([Point(name, OWN, start, *searched) for name, start in starts.items()])]
    yield [search(name, OWN, variants[name].space, starts[name]) for name in variants if variants[name].space]
    yield [PointList(_with_all_seeds(experiment, _winner(experiment, board, name, OWN))) for name in variants]


def _head_phases(experiment: Experiment, board: Board) -> Phases:
    section = experiment.settings.experiment
    seeds = section.seeds if section.bundle is None else section.seeds[:1]
    yield [PointList([Point(WHOLE, None, {}, seed) for seed in seeds])]
    trained = [seed for seed in seeds if board.best(WHOLE, None, seed) is not None]
    found = heads_of(experiment.run_settings(Point(WHOLE, None, {}, seeds[0])).model)
    points = [
        Point(f"without head {head}", attention, {HEAD: f"{attention}.{head}"}, seed)
        for seed in trained for attention, count in found for head in range(1, count + 1)
    ]  # fmt: skip
    yield [PointList(points)]


def _with_all_seeds(experiment: Experiment, best: TrialResult) -> list[Point]:
    return [Point(best.variant, best.group, best.settings, seed) for seed in experiment.settings.experiment.seeds]


def _winner(experiment: Experiment, board: Board, variant: str, group: str | None) -> TrialResult:
    """The best of a search. OpenworkError where none of its trials has finished."""
    seed, short = experiment.settings.search_seed, experiment.settings.has_short_searches
    best = board.best(variant, group, seed, short=short)
    if best is None:
        tried = [one for one in board.results.values() if (one.variant, one.group, one.seed) == (variant, group, seed)]
        first = next((one.problem for one in tried if one.problem), None)
        raise OpenworkError(
            f"none of the {len(tried)} trials of {variant} has finished, so there is no best one",
            why=f"the first says: {first.what}" if first else "all were ended early",
            hint="mend the base, the space or the budget, and begin with another --out",
            code="E046",
        )
    return best


def chosen(board: Board) -> list[TrialResult]:
    """The trials that are scored on the test set: with all seeds, the best settings of each variant and group.

    Validation alone decides: the settings that finished with the most seeds, of those the ones with the best mean.
    Failed trials, and trials that were ended early, are never chosen.
    """
    cells: dict[tuple[str, str | None], dict[str, list[TrialResult]]] = {}
    for one in board.results.values():
        if one.score is not None:
            same = cells.setdefault((one.variant, one.group), {})
            same.setdefault(repr(sorted(one.settings.items())), []).append(one)
    best = (max(same.values(), key=lambda trials: (len(trials), _mean_figure(trials))) for same in cells.values())
    return sorted((one for trials in best for one in trials), key=lambda one: one.number)


def _mean_figure(trials: Sequence[TrialResult]) -> float:
    return fmean(one.figure or 0.0 for one in trials)


def total(experiment: Experiment) -> tuple[int, int]:
    """About how many trials take less than the budget, and how many all of it: copies of trials count as trials.

    Less take the short ones of a search, and those that only score a model without a head.
    """
    settings, section = experiment.settings, experiment.settings.experiment
    seeds, variants = len(section.seeds), list(experiment.variants)
    if section.kind == "factors":
        return 0, len(factor_points(experiment))
    if section.kind == "heads":
        heads = sum(count for _, count in heads_of(experiment.run_settings(Point(WHOLE, None, {}, 0)).model))
        models = seeds if section.bundle is None else 1
        return models * heads, models
    short = settings.has_short_searches
    known = 0 if short else 1  # of the trainings of each best: the search has made it
    if section.kind == "search":
        searches = [_length(experiment, experiment.space_of(name)) for name in variants]
        searched, whole = sum(searches), len(variants) * (seeds - known)
        return (searched, whole) if short else (0, searched + whole)
    baselines = sum(variant.baseline for variant in settings.variants)
    own = [_length(experiment, variant.space) for variant in settings.variants if variant.space]
    exchanged = baselines * (1 + len(variants) - baselines) * seeds - known * baselines
    searched = baselines * _length(experiment, settings.space) + sum(own) + (1 - known) * len(variants)
    whole = exchanged + len(variants) * seeds
    return (searched, whole) if short else (0, searched + whole)


def _length(experiment: Experiment, space: dict[str, Dimension]) -> int:
    """The number of trials of a search."""
    section = experiment.settings.experiment
    most = {
        "grid": lambda: prod(len(grid_values(one)) for one in space.values()),
        "guided": lambda: 1 + sum(len(grid_values(one)) - 1 for one in space.values()),
    }.get(section.sampler, lambda: section.trials or TRIALS)()
    return min(most, section.trials or most)
