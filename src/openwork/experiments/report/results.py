"""What a report reads of an experiment's folder: the results of its trials, their tests, and the experiment's file.

experiment.toml            name, kind, variants and budget
trials/NNNN/trial.json     the result of each trial that was finished, failed or pruned
trials/NNNN/test.json      of a chosen trial: scores of the test set, of its sentences, and their statistics
test.json                  that the test set has been touched: which trials, when
importance.json            how much each setting matters, where a search has measured it
"""

import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.base.regular_files import read_regular

FILE, TEST, TRIAL, IMPORTANCE, TRIALS = "experiment.toml", "test.json", "trial.json", "importance.json", "trials"
MOST_BYTES = 1 << 28  # of each file: statistics of a test set
FORMAT = 1

METRICS = {"bleu": "BLEU", "chrf": "chrF2", "exact": msg("exact match"), "loss": msg("loss"), "score": msg("score")}

Value = bool | int | float | str


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TrialProblem(_Read):
    """Why a trial failed."""

    code: str = ""
    what: str = ""
    why: str = ""


class ReportedTest(_Read):
    """What a trial scored on the test set: `scores` of the corpus by metric, `sentences` one by one.

    `statistics` of each sentence are what the corpus score is made of (`metrics/two_way_bootstrap.py`).
    """

    scores: Mapping[str, float] = {}
    sentences: tuple[float, ...] = ()
    statistics: tuple[tuple[float, ...], ...] = ()
    signature: str = ""


class ReportedTrial(_Read):
    """One trial.json; `settings` are those that the trial changes."""

    format: Literal[1] = FORMAT
    number: int
    variant: str
    group: str | None = None
    settings: Mapping[str, Value] = {}
    seed: int
    state: Literal["finished", "failed", "pruned"]
    problem: TrialProblem | None = None
    metric: str
    validation: Mapping[str, float | None] = {}
    signature: str | None = None
    tokenizers: str | None = None
    data: str | None = None
    updates: int | None = None
    target_tokens: int | None = None
    seconds: float | None = None
    cores: float | None = None
    flops: float | None = None
    weights: int | None = None
    machine: str | None = None
    copy_of: int | None = None
    test: ReportedTest | None = Field(default=None, exclude=True)

    @property
    def score(self) -> float | None:
        """The validation figure of a finished trial; None where there is none, so that it counts in no mean."""
        value = self.validation.get(self.metric)
        return value if self.state == "finished" and value is not None and math.isfinite(value) else None

    @property
    def tested(self) -> float | None:
        """The corpus score of the test set; None where there is none."""
        value = self.test.scores.get(self.metric) if self.test else None
        return value if value is not None and math.isfinite(value) else None

    @property
    def core_hours(self) -> float | None:
        """Hours times cores; None where either is unknown."""
        return None if self.seconds is None or self.cores is None else self.seconds * self.cores / 3600


@dataclass(frozen=True)
class Arm:
    """What is compared: the trials of one variant with the same settings, which differ by their seed alone."""

    name: str
    variant: str
    group: str | None
    settings: Mapping[str, Value]
    trials: tuple[ReportedTrial, ...]

    @cached_property
    def counted(self) -> tuple[ReportedTrial, ...]:
        """The trials that count, by seed: the last of each seed, for the same seed twice is no second observation."""
        return tuple({trial.seed: trial for trial in self.trials if trial.score is not None}.values())

    @cached_property
    def scores(self) -> list[float]:
        """The validation figures of the trials that count, by seed."""
        return [*self.figures(tested=False).values()]

    @cached_property
    def test_scores(self) -> list[float]:
        """The corpus scores of the test set, by seed."""
        return [*self.figures(tested=True).values()]

    def figures(self, *, tested: bool) -> dict[int, float]:
        """Seed -> validation figure, or score of the test set where there is one."""
        found = {trial.seed: trial.tested if tested else trial.score for trial in self.counted}
        return {seed: score for seed, score in found.items() if score is not None}

    @property
    def trainings(self) -> tuple[int, ...]:
        """The trials that count, by the number under which each was really trained."""
        return tuple(trial.number if trial.copy_of is None else trial.copy_of for trial in self.counted)

    @property
    def sentences(self) -> NDArray[np.float64] | None:
        """Scores (seeds, sentences) of the test set; None unless two seeds have them of the same sentences."""
        return _stacked([trial.test.sentences for trial in self.counted if trial.test])

    @property
    def statistics(self) -> NDArray[np.float64] | None:
        """Statistics (seeds, sentences, numbers) of the test set; None unless two seeds have them."""
        return _stacked([trial.test.statistics for trial in self.counted if trial.test])


@dataclass(frozen=True)
class ExperimentResults:
    """All that was read; `file` is the experiment's TOML, `test` what is known of the use of the test set."""

    folder: Path
    file: Mapping[str, Any]
    trials: tuple[ReportedTrial, ...]
    test: Mapping[str, Any] | None = None
    importance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by study

    @property
    def name(self) -> str:
        """The experiment's name."""
        return str(self._section.get("name", self.folder.name))

    @property
    def kind(self) -> str:
        """search, factors, protocol or heads."""
        return str(self._section.get("kind", ""))

    @property
    def choosing_seed(self) -> int | None:
        """The seed by whose validation figures settings were chosen; None where none were searched."""
        return next(iter(self._section.get("seeds", ())), None) if self.kind in ("search", "protocol") else None

    @property
    def metric(self) -> str:
        """What trials are compared by."""
        return next((trial.metric for trial in self.trials), str(self._section.get("metric", "")))

    @property
    def metric_name(self) -> str:
        """The metric as it is written."""
        return METRICS.get(self.metric, self.metric)

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 for a loss."""
        return -1 if self.metric == "loss" else 1

    @property
    def budget(self) -> Mapping[str, Any]:
        """What each trial could cost."""
        return self.file.get("budget", {})

    @property
    def baselines(self) -> tuple[str, ...]:
        """The variants that are marked as baselines."""
        return tuple(str(one.get("name")) for one in self._variants if one.get("baseline"))

    @property
    def _section(self) -> Mapping[str, Any]:
        return self.file.get("experiment", {})

    @property
    def _variants(self) -> list[Mapping[str, Any]]:
        return [one for one in self.file.get("variants", []) if isinstance(one, Mapping)]

    def changes(self, arm: Arm) -> dict[str, Value]:
        """All that an arm changes of the base, by its variant and by its own settings."""
        variant = next((one for one in self._variants if one.get("name") == arm.variant), {})
        return {**variant.get("settings", {}), **arm.settings}

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The arms in the order of their first trials, each with a name that no other has."""
        kept: dict[tuple[str, str | None, str], list[ReportedTrial]] = {}
        for trial in self.trials:
            key = (trial.variant, trial.group, json.dumps(dict(trial.settings), sort_keys=True))
            kept.setdefault(key, []).append(trial)
        return tuple(
            Arm(name, trials[0].variant, trials[0].group, trials[0].settings, tuple(sorted(trials, key=_by_seed)))
            for name, trials in zip(
                _names([*kept.values()], self.choosing_seed is not None), kept.values(), strict=True
            )
        )

    @cached_property
    def distinct(self) -> tuple[Arm, ...]:
        """The arms without those that are the same trainings as an earlier one, under another name."""
        return tuple({arm.trainings: arm for arm in reversed(self.arms)}.values())[::-1]

    @cached_property
    def compared(self) -> tuple[Arm, ...]:
        """The arms that have the figures of two seeds or more, which can be compared."""
        return tuple(arm for arm in self.arms if len(arm.scores) > 1)


def read_results(folder: Path) -> ExperimentResults:
    """The results in an experiment's folder, trials by number.

    DataError: there is no experiment, a file is damaged, or the trials cannot be compared with each other.
    """
    if not (folder / FILE).is_file():
        raise DataError(
            f"{folder}: this is not the folder of an experiment",
            why=f"it holds no {FILE}",
            hint="name the folder that openwork experiment run made",
            code="D178",
        )
    try:
        file = tomllib.loads(_text(folder / FILE))
    except tomllib.TOMLDecodeError as error:
        raise _damaged(folder / FILE, str(error)) from error
    trials = tuple(sorted(_trials(folder / TRIALS), key=lambda trial: trial.number))
    check_comparable(trials)
    test = _object(folder / TEST) if (folder / TEST).is_file() else None
    importance = _object(folder / IMPORTANCE) if (folder / IMPORTANCE).is_file() else {}
    return ExperimentResults(folder, file, trials, test, _by_study(importance))


def check_comparable(trials: Iterable[ReportedTrial]) -> None:
    """DataError unless all finished trials were scored by the same metric, on the same data and the same pieces."""
    finished = [trial for trial in trials if trial.state == "finished"]
    tested = [trial for trial in finished if trial.test is not None]
    for name, group, value in (
        (msg("the metric"), finished, lambda trial: trial.metric),
        (msg("the metric's signature"), finished, lambda trial: trial.signature),
        (msg("the tokenizers"), finished, lambda trial: trial.tokenizers),
        (msg("the data"), finished, lambda trial: trial.data),
        (msg("the metric's signature on the test set"), tested, lambda trial: trial.test.signature),
        (msg("the number of sentences of the test set"), tested, lambda trial: len(trial.test.sentences)),
    ):
        for one, other in pairwise(group):
            if value(one) != value(other):
                raise DataError(
                    f"trials {one.number} and {other.number} cannot be compared: {name} differs",
                    why=f"{value(one)} against {value(other)}",
                    hint="run them anew with the same metric, tokenizers and data, in an experiment of their own",
                    code="D179",
                )


def _by_study(importance: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    shares = {
        study: {key: float(share) for key, share in values.items() if isinstance(share, int | float)}
        for study, values in importance.items()
        if isinstance(values, Mapping)
    }
    return {study: values for study, values in shares.items() if values}


def _trials(folder: Path) -> Iterator[ReportedTrial]:
    for path in sorted(folder.glob(f"*/{TRIAL}")):
        values = _object(path)
        if (path.parent / TEST).is_file():
            values["test"] = _object(path.parent / TEST)
        try:
            yield ReportedTrial.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            raise _damaged(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(found, dict):
        raise _damaged(path, "it holds no JSON object")
    return found


def _text(path: Path) -> str:
    try:
        return read_regular(path, MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: the result cannot be read",
        why=why,
        hint="remove the folder of this trial and resume the experiment, or restore the file",
        code="D180",
    )


def _stacked(rows: list[tuple[Any, ...]]) -> NDArray[np.float64] | None:
    if len(rows) < 2 or not rows[0] or len({len(row) for row in rows}) > 1:
        return None
    try:
        found = np.array(rows, np.float64)
    except ValueError:  # of different lengths inside
        return None
    return found if np.isfinite(found).all() else None


def _by_seed(trial: ReportedTrial) -> tuple[int, int]:
    return trial.seed, trial.number


def _names(cells: list[list[ReportedTrial]], is_searched: bool) -> list[str]:
    """A name for the trials of each arm: variant and group, and settings where these do not tell it from others.

    The best of a search, which alone of its variant and group has several seeds, keeps the short name.
    """
    several = len({trials[0].variant for trials in cells}) > 1
    many = [len({trial.seed for trial in trials}) > 1 for trials in cells]
    groups = [(trials[0].variant, _group(trials[0])) for trials in cells]
    names = []
    for (variant, group), has_many, trials in zip(groups, many, cells, strict=True):
        alike = [other for at, other in zip(groups, many, strict=True) if at == (variant, group)]
        settings = [f"{key.rpartition('.')[2]} = {value}" for key, value in trials[0].settings.items()]
        is_told = len(alike) == 1 or (is_searched and has_many and sum(alike) == 1)
        inside = ", ".join([*([group] if group else []), *([] if is_told else settings)])
        names.append(f"{variant} ({inside})" if several and inside else inside or variant)
    repeated = {name for name in names if names.count(name) > 1}
    pairs = zip(names, cells, strict=True)
    return [f"{name} ({trials[0].number})" if name in repeated else name for name, trials in pairs]


def _group(trial: ReportedTrial) -> str:
    """The group, unless it is only the name of the setting that is varied."""
    return "" if trial.group in trial.settings else trial.group or ""
