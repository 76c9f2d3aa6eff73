"""The state of an experiment for a person: its trials, how far they are, and about how long it will take."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.experiments.experiment import Experiment
from openwork.experiments.folder import Board, ExperimentFolder, TrialClaim
from openwork.experiments.heads import HEAD
from openwork.experiments.plan import total
from openwork.experiments.result import TouchedTestSet, TrialProblem, TrialResult, read_written
from openwork.experiments.search.spaces import Value, setting_text
from openwork.training.progress import duration

WAITS = "waiting"  # the state of a trial that no process works on


@dataclass(frozen=True)
class TrialState:
    """One trial. `figure`: its best validation figure so far; `done`: share of its updates."""

    number: int
    variant: str
    group: str | None
    settings: Mapping[str, Value]
    seed: int
    short: bool
    state: str  # finished, failed, pruned, running, waiting
    figure: float | None = None
    done: float = 0.0
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class ExperimentState:
    """All trials, how many there will be, and about how many seconds are left with so many workers."""

    name: str
    kind: str
    metric: str
    trials: tuple[TrialState, ...]
    planned: int
    seconds_left: float | None
    tested: float | None  # when the test set was touched

    def count(self, state: str) -> int:
        """Trials in this state."""
        return sum(trial.state == state for trial in self.trials)

    @property
    def over(self) -> int:
        """Trials that are over."""
        return sum(self.count(state) for state in ("finished", "failed", "pruned"))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_state(experiment: Experiment, folder: ExperimentFolder, workers: int | None = None) -> ExperimentState:
    """The state of the experiment now; `workers` share what is left, as many as its file says unless given."""
    section, board = experiment.settings.experiment, folder.board()
    trials = tuple(_trial_state(folder, board, claim) for claim in board.claims.values())
    lesser, whole = total(experiment)
    touched = read_written(TouchedTestSet, folder.test)
    times = _mean_seconds(experiment, board)
    left = None
    if times is not None:
        undone = [lesser - _done(trials, is_lesser=True), whole - _done(trials, is_lesser=False)]
        seconds = sum(max(0.0, count) * each for count, each in zip(undone, times, strict=True))
        left = seconds / min(workers or section.workers, max(1, round(sum(undone))))
    planned = max(lesser + whole, len(trials))
    tested = touched.started if touched is not None else None
    return ExperimentState(section.name, section.kind, section.metric, trials, planned, left, tested)


def _takes_less(trial: TrialResult | TrialState) -> bool:
    """Whether it trains less than the budget: a short trial, or a model without a head, which is only scored."""
    return trial.short or HEAD in trial.settings


def _done(trials: Sequence[TrialState], *, is_lesser: bool) -> float:
    return sum(trial.done for trial in trials if _takes_less(trial) == is_lesser)


def _mean_seconds(experiment: Experiment, board: Board) -> tuple[float, float] | None:
    """Of a trial that takes less than the budget, and of one that takes all; None before one is over.

    What was not seen yet follows from the other kind by `budget.search`; scoring, before it is seen, takes no time.
    """
    over = [one for one in board.results.values() if one.copy_of is None and one.state == "finished"]
    lesser = [one.seconds or 0.0 for one in over if _takes_less(one)]
    whole = [one.seconds or 0.0 for one in over if not _takes_less(one)]
    part = experiment.budget.search if experiment.settings.has_short_searches else 0.0
    if whole:
        return (fmean(lesser) if lesser else part * fmean(whole)), fmean(whole)
    if lesser:
        return fmean(lesser), fmean(lesser) / part if part else 0.0
    return None


def _trial_state(folder: ExperimentFolder, board: Board, claim: TrialClaim) -> TrialState:
    point, result, trial = claim.point, board.results.get(claim.number), folder.trial(claim.number)
    named = (claim.number, point.variant, point.group, point.settings, point.seed, point.short)
    if result is not None:
        problem = (result.problem or TrialProblem()).what
        figure = result.validation.get(result.metric)
        return TrialState(*named, result.state, figure, 1.0, result.seconds or 0.0, problem)
    state, made = "running" if trial.is_held else WAITS, trial.made
    return TrialState(*named, state, None, made.share, made.seconds)


def summary_line(state: ExperimentState) -> str:
    """How far the experiment is, in one line."""
    parts = [msg(f"{state.over:,} of about {state.planned:,} trials are over")]
    for name, count in ((name, state.count(name)) for name in ("failed", "pruned", "running", "waiting")):
        if count:
            parts += [AsIs(", "), Joined(AsIs(f"{count:,} "), name)]
    if state.seconds_left is not None and state.over < state.planned:
        parts.append(msg(f"; about {duration(state.seconds_left)} are left"))
    return Joined(*parts)


def trial_name(variant: str, group: str | None, settings: Mapping[str, Value], seed: int, *, short: bool) -> str:
    """A trial in words: what it changes, its seed, and whether it is short."""
    named = [group] if group is not None and group not in settings else []
    changed = setting_text({key: value for key, value in settings.items() if key != HEAD})
    rest = [*([changed] if changed else []), f"seed {seed}", *(["short"] if short else [])]
    return ", ".join([variant, *named, *rest])


def trial_cells(trial: TrialState) -> tuple[str, ...]:
    """Number, state, share of the updates made, best figure, time, and what is trained."""
    done = f"{trial.done:.0%}" if trial.state == "running" else ""
    figure = "" if trial.figure is None else f"{trial.figure:.2f}"
    name = trial_name(trial.variant, trial.group, trial.settings, trial.seed, short=trial.short)
    problem = f": {trial.problem}" if trial.problem else ""
    return str(trial.number), trial.state, done, figure, duration(trial.seconds), f"{name}{problem}"


def trial_line(trial: TrialState, metric: str) -> str:
    """The same in one line."""
    number, state, done, figure, took, name = trial_cells(trial)
    rest = [done, figure and f"{metric} {figure}", took if trial.seconds else "", name]
    return Joined(AsIs(f"{number:>4}  "), state, AsIs("".join(f"  {part}" for part in rest if part)))


def state_lines(state: ExperimentState) -> list[str]:
    """The whole state: how far it is, a line for each trial, and when the test set was touched."""
    lines = [summary_line(state), *(trial_line(trial, state.metric) for trial in state.trials)]
    if state.tested is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.tested))
        lines.append(msg(f"the test set was touched at {when}"))
    return lines
