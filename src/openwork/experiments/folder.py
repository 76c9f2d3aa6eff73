"""The folder of an experiment: its files, the claims and results of its trials, and what another process holds.

A trial's folder is an ordinary run folder. Beside the run's files it has `.claim.json`, what is to be trained, and
`trial.json`, what came of it, which says that the trial is over. Who works on a trial holds its lock `.busy`, which the
system releases when that process ends, however it ends. The lock of the experiment is held for moments only.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from openwork.base.config import Layer
from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.base.outputs import check_apart
from openwork.base.records import readable_records
from openwork.base.toml import write_table, write_value
from openwork.experiments.experiment import Experiment, Point
from openwork.experiments.result import SetScores, TrialResult, Written, read_written
from openwork.experiments.search.spaces import Value
from openwork.experiments.settings import ExperimentSettings
from openwork.runs.folder import RunFolder

FILE, BASE = "experiment.toml", "base.toml"
CHANGEABLE = ("workers", "command")  # keys of [experiment] that another start may have otherwise


class TrialClaim(Written):
    """A trial that was started. `study`: the search that it belongs to, with the `params` that the search chose.

    `identity`: of the training, whatever its names; `copy_of`: the number of a trial that is the same training.
    """

    number: int
    point: Point
    identity: str
    study: str | None = None
    params: Mapping[str, Value] = {}
    copy_of: int | None = None
    started: float = 0.0


@dataclass(frozen=True)
class Board:
    """All claims and results of an experiment, by number, at one moment."""

    claims: Mapping[int, TrialClaim]
    results: Mapping[int, TrialResult]

    @property
    def open(self) -> list[TrialClaim]:
        """Trials that were started and are not over."""
        return [claim for number, claim in self.claims.items() if number not in self.results]

    def claim_of(self, point: Point) -> TrialClaim | None:
        """The trial of this point."""
        return next((claim for claim in self.claims.values() if claim.point == point), None)

    def of_study(self, study: str) -> list[TrialClaim]:
        """The trials of a search, in the order in which they began."""
        return [claim for claim in self.claims.values() if claim.study == study]

    def same_training(self, identity: str) -> TrialClaim | None:
        """The first trial that is this training."""
        return next((one for one in self.claims.values() if one.identity == identity and one.copy_of is None), None)

    def is_under_way(self, identity: str) -> bool:
        """Whether a trial is this training and not over."""
        claim = self.same_training(identity)
        return claim is not None and claim.number not in self.results

    def best(self, variant: str, group: str | None, seed: int, *, short: bool = False) -> TrialResult | None:
        """The best finished trial of a variant, in its group and with a seed; of equal ones the first."""
        found = [
            one for one in self.results.values()
            if (one.variant, one.group, one.seed, one.short) == (variant, group, seed, short)
            and one.figure is not None
        ]  # fmt: skip
        return max(found, key=lambda one: one.figure or 0.0, default=None)


class ExperimentFolder:
    """The files of an experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / FILE
        self.base_file = path / BASE
        self.trials = path / "trials"
        self.corpora = path / "corpora"
        self.database = path / "trials.db"
        self.test = path / "test.json"
        self.importance = path / "importance.json"
        self.lock = path / ".lock"

    def trial(self, number: int) -> "TrialFolder":
        return TrialFolder(self.trials / f"{number:04}")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """A context in which no other process claims a trial here."""
        with FileLock(self.lock):
            yield

    def begin(self, experiment: Experiment, base: Layer) -> None:
        """Makes the folder, or checks that the experiment in it is this one. ConfigError where it is another.

        `base`: the base with what this machine decided.
        """
        if not self.settings_file.is_file():
            self._make()
        with self.locked():
            if self.settings_file.is_file():  # another process may have written it meanwhile
                return self._check_same(experiment)
            atomic_write_text(self.base_file, write_table(base.mapping))
            section = experiment.settings.experiment.model_copy(update={"base": BASE})
            settings = experiment.settings.model_copy(update={"experiment": section})
            atomic_write_text(self.settings_file, settings_text(settings))
        return None

    def _make(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path}: --out is a file", hint="name a folder, it will be made", code="C051")
        check_apart(self.path, ())
        if self.path.is_dir() and any(
            child.name != BASE and not child.name.startswith(".") for child in self.path.iterdir()
        ):
            raise ConfigError(
                f"{self.path}: --out is a folder with other things in it", hint="name a new or empty folder",
                code="C052",
            )  # fmt: skip
        self.path.mkdir(parents=True, exist_ok=True)

    def _check_same(self, experiment: Experiment) -> None:
        from openwork.experiments.file import read_experiment

        before = read_experiment(self.settings_file)
        changes = _differences(before.settings, experiment.settings)
        if _comparable(before.base) != _comparable(experiment.base):
            changes.append("experiment.base")
        if changes:
            raise ConfigError(
                f"{self.path}: the experiment in this folder has other settings: {', '.join(changes)}",
                why="trials of two plans could not be compared",
                hint="give another --out, or go on with the folder: openwork experiment run FOLDER",
                code="C136",
            )

    def board(self) -> Board:
        """All claims and results. DataError where one of their files is damaged."""
        trials = list(self._trials())
        claims = [found for trial in trials if (found := read_written(TrialClaim, trial.claim)) is not None]
        known = {claim.number for claim in claims}
        results = [found for found in self._results(trials) if found.number in known]
        return Board({claim.number: claim for claim in claims}, {result.number: result for result in results})

    def results(self) -> list[TrialResult]:
        """The results of the trials that are over, with their scores of the test set, by number. DataError as above."""
        return [
            result.model_copy(update={"test": read_written(SetScores, self.trial(result.number).test)})
            for result in self._results(self._trials())
        ]

    def _trials(self) -> Iterator["TrialFolder"]:
        paths = sorted(self.trials.glob("[0-9]*"), key=lambda path: (len(path.name), path.name))
        return (TrialFolder(path) for path in paths)

    @staticmethod
    def _results(trials: Iterable["TrialFolder"]) -> Iterator[TrialResult]:
        found = (read_written(TrialResult, trial.result) for trial in trials)
        return (result for result in found if result is not None)


@dataclass(frozen=True)
class Made:
    """How many of its updates a training has made, in how many seconds, and how many it has validated."""

    updates: int = 0
    steps: int = 0
    seconds: float = 0.0
    validating: float = 0.0

    @property
    def share(self) -> float:
        """The part of the updates that were made."""
        return self.updates / self.steps if self.steps else 0.0


class TrialFolder:
    """The files of a trial beside those of its run."""

    def __init__(self, path: Path) -> None:
        self.run = RunFolder(path)
        self.path = path
        self.claim = path / ".claim.json"
        self.busy = path / ".busy"
        self.result = path / "trial.json"
        self.test = path / "test.json"

    def take(self) -> FileLock | None:
        """The lock of the trial, held; None where another process holds it."""
        lock = FileLock(self.busy, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return None
        return lock

    @property
    def made(self) -> Made:
        """How far its training has come, by the run's records."""
        made = Made()
        for one in readable_records(self.run.records)[0] if self.run.records.is_file() else ():
            match one.get("kind"):
                case "started":
                    made = replace(made, steps=one["steps"])
                case "step":
                    made = replace(made, updates=one["step"], seconds=one["seconds"])
                case "validation":
                    made = replace(made, updates=one["step"], validating=made.validating + one["seconds"])
        return made

    @property
    def is_held(self) -> bool:
        """Whether a process works on it now."""
        lock = self.take() if self.path.is_dir() else None
        if lock is not None:
            lock.release()
        return lock is None and self.path.is_dir()


def is_experiment(path: Path) -> bool:
    """Whether the folder is that of an experiment."""
    return (path / FILE).is_file()


def experiment_folder(path: Path) -> ExperimentFolder:
    """The experiment in a folder. ConfigError where there is none."""
    if not is_experiment(path):
        raise ConfigError(
            f"{path}: there is no experiment",
            why=f"it has no {FILE}",
            hint="name the folder that openwork experiment run --out wrote",
            code="C137",
        )
    return ExperimentFolder(path)


def settings_text(settings: ExperimentSettings) -> str:
    """The settings as an experiment file that keeps the order of the space, which a grid goes through."""
    values = {key: value for key, value in settings.model_dump(mode="json", exclude_none=True).items() if value}
    space = values.pop("space", {})
    lines = [f"{write_value(key)} = {write_value(value)}\n" for key, value in space.items()]
    return write_table(values) + ("\n[space]\n" + "".join(lines) if lines else "")


def _differences(before: ExperimentSettings, now: ExperimentSettings) -> list[str]:
    """The keys whose values differ, but for those that may."""
    old, new = (_plain(settings) for settings in (before, now))
    return [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]


def _comparable(base: Layer) -> dict[str, Any]:
    """The base without what the machine decided for it."""
    mapping = {key: value for key, value in base.mapping.items() if key != "training"}
    training = base.mapping.get("training", {})
    return {**mapping, "training": {key: value for key, value in training.items() if key != "precision"}}


def _plain(settings: ExperimentSettings) -> dict[str, Any]:
    values = settings.model_dump(mode="json", exclude_none=True)
    found = {}
    for name, section in values.items():
        inner = section.items() if isinstance(section, dict) else [("", section)]
        found |= {f"{name}.{key}".rstrip("."): value for key, value in inner}
    ignored = {"experiment.base", *(f"experiment.{key}" for key in CHANGEABLE)}
    return {key: value for key, value in found.items() if key not in ignored}
