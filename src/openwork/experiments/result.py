"""What came of a trial, `trial.json`, and what it scored on the test set, `test.json`. No torch and no Optuna here."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openwork.base.errors import DataError
from openwork.base.files import atomic_write_text
from openwork.base.messages import msg
from openwork.base.printing import json_text
from openwork.base.regular_files import read_regular
from openwork.experiments.search.spaces import Value

FORMAT = 1
MOST_BYTES = 1 << 28  # of each file: statistics of a test set
State = Literal["finished", "failed", "pruned"]


class Written(BaseModel):
    """What a process writes for others. Keys that a later version adds are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal[1] = FORMAT


AnyWritten = TypeVar("AnyWritten", bound=Written)


class TouchedTestSet(Written):
    """That the test set was touched: by which trials, when, and by which rule they were chosen. `ended`: None until all
    of them are scored.
    """

    test: str
    sentences: int
    rule: str
    metric: str
    trials: tuple[int, ...]
    started: float
    ended: float | None = None


class TrialProblem(BaseModel):
    """Why a trial failed."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str = ""
    what: str = ""
    why: str = ""


class SetScores(Written):
    """What a trial scored on the test set: `scores` of the corpus by metric, `sentences` one by one, from 0 to 100.

    `statistics` of each sentence are what the corpus score is made of (`metrics/two_way_bootstrap.py`).
    """

    hypotheses: str = ""  # their file
    scores: Mapping[str, float] = {}
    signature: str = ""
    sentences: tuple[float, ...] = ()
    statistics: tuple[tuple[float, ...], ...] = ()


class TrialResult(Written):
    """One trial.json. `settings` are those that the trial changes; `seconds` of training and validating, on the clock.

    What is not known is None. `copy_of`: the number of a trial that is the same training; such a copy took no time.
    `short`: it had the budget of a search's trials.
    """

    number: int
    variant: str
    group: str | None = None
    settings: Mapping[str, Value] = {}
    seed: int
    state: State
    problem: TrialProblem | None = None
    metric: str
    validation: Mapping[str, float | None] = {}
    signature: str | None = None
    tokenizers: str | None = None
    data: str | None = None
    updates: int | None = None
    target_tokens: int | None = None
    seconds: float | None = None
    flops: float | None = None
    weights: int | None = None
    machine: str | None = None
    processor_seconds: float | None = None
    started: float | None = None
    ended: float | None = None
    copy_of: int | None = None
    short: bool = False
    test: SetScores | None = Field(default=None, exclude=True)

    @property
    def figure(self) -> float | None:
        """The validation figure of a finished trial, turned so that higher is better; None where there is none."""
        value = self.validation.get(self.metric)
        if self.state != "finished" or value is None or not math.isfinite(value):
            return None
        return -value if self.metric == "loss" else value

    @property
    def score(self) -> float | None:
        """The validation figure of a trial that counts; None of all others, so that they are in no mean."""
        return None if self.short or self.figure is None else self.validation[self.metric]

    @property
    def tested(self) -> float | None:
        """The corpus score of the test set; None where there is none."""
        value = self.test.scores.get(self.metric) if self.test else None
        return value if value is not None and math.isfinite(value) else None

    @property
    def core_hours(self) -> float | None:
        """Hours of one core that the trial has used, whatever ran beside it; None where they are unknown."""
        return None if self.processor_seconds is None else self.processor_seconds / 3600


def read_written(kind: type[AnyWritten], path: Path) -> AnyWritten | None:
    """What the file says; None where there is no file. DataError for a damaged one."""
    values = read_json(path)
    try:
        return None if values is None else kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise damaged(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def write_written(path: Path, values: Written) -> None:
    """Writes it whole or not at all."""
    write_json(path, values.model_dump(mode="json"), indent=None if isinstance(values, SetScores) else 1)


def write_json(path: Path, values: Mapping[str, Any], indent: int | None = 1) -> None:
    """Writes it whole or not at all."""
    atomic_write_text(path, json_text(values, indent=indent) + "\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in the file; None where there is no file. DataError for a damaged one."""
    try:
        values = json.loads(read_regular(path, MOST_BYTES).decode("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    if not isinstance(values, dict):
        raise damaged(path, msg("it holds no JSON object"))
    return values


def damaged(path: Path, why: str) -> DataError:
    """The error for a file of an experiment that says nothing which openwork wrote."""
    return DataError(
        f"{path}: this file of an experiment is damaged",
        why=why,
        hint="restore it; a trial whose folder is removed is made again by openwork experiment resume",
        code="D134",
    )
