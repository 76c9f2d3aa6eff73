"""What a run has recorded so far: its settings, the updates of its log, its validations."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from openwork.base.config import read_written_file
from openwork.base.records import readable_records
from openwork.runs.folder import RunFolder

MOST_POINTS = 500  # of a curve: a screen has few more
CURVES = ("likelihood", "loss", "learning_rate", "gradient_norm", "tokens_per_second")
FIGURES = ("loss", "bleu", "chrf", "exact", "score")


@dataclass(frozen=True)
class Validated:
    """A validation; `seconds` of training were made before it. Figures that were not taken are None."""

    step: int
    seconds: float | None
    figures: Mapping[str, float | None]
    sample: tuple[str, str, str] | None = None  # source, reference, output


@dataclass(frozen=True)
class RunHistory:
    """A run. `wanted`: its number of updates; `updated`: when its last line was written, in seconds since 1970.

    `curves`: columns of the log's lines, all of one length; each `every`-th line of the log is kept, and the last.
    `settings`: by their full keys, such as `model.heads`. `score_name`: what `score` is, such as accuracy.
    """

    name: str
    is_finished: bool
    made: int
    wanted: int | None
    updated: float | None
    settings: Mapping[str, Any]
    every: int = 1
    curves: Mapping[str, list[float | None]] = field(default_factory=dict)
    validations: tuple[Validated, ...] = ()
    score_name: str = ""
    damaged: tuple[int, ...] = ()  # numbers of lines that are no records

    @property
    def seconds(self) -> float | None:
        """Of training so far."""
        return next((one for one in reversed(self.curves.get("seconds", [])) if one is not None), None)

    @property
    def metric(self) -> str:
        """The figure by which the run chooses its best checkpoint."""
        wanted = self.settings.get("training.metric")
        return wanted if wanted in FIGURES else "loss"

    @property
    def best(self) -> Validated | None:
        """The best validation by the run's metric, of equal ones the earlier."""
        known = [one for one in self.validations if one.figures[self.metric] is not None]
        sign = -1 if self.metric == "loss" else 1
        return max(known, key=lambda one: sign * (one.figures[self.metric] or 0.0), default=None)

    def to_json(self) -> dict[str, Any]:
        best = self.best
        return {**asdict(self), "metric": self.metric, "best": best and self.validations.index(best)}


def read_history(folder: RunFolder, name: str) -> RunHistory:
    """The run in this folder as far as it is recorded.

    Raises:
        ConfigError: its run.toml cannot be read.
        DataError: its records.jsonl cannot be read; single damaged lines are left out and counted.
    """
    settings = dict(_flat(read_written_file(folder.settings_file).mapping))
    records, damaged = readable_records(folder.records) if folder.records.exists() else ([], [])
    steps, validations = _last_course(records)
    wanted = settings.get("training.steps")
    every = -(-len(steps) // MOST_POINTS) or 1
    kept = [one for place, one in enumerate(steps) if place % every == 0 or one is steps[-1]]
    named = [one.get("score_name") for one in validations]
    return RunHistory(
        name,
        folder.is_finished and not folder.extended.exists(),
        max([0, *(_step(one) for one in (*steps, *validations, *_ends(records)))]),
        wanted if isinstance(wanted, int) else None,
        next((time for one in reversed(records) if (time := _number(one.get("time"))) is not None), None),
        settings,
        every,
        {key: [_number(one.get(key)) for one in kept] for key in ("step", "seconds", *CURVES)},
        tuple(map(_validated, validations)),
        str(next((one for one in named if one), "")),
        tuple(damaged),
    )  # fmt: skip


def _last_course(records: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The lines of updates and of validations, without those that a resumed run made again."""
    steps: list[Mapping[str, Any]] = []
    validations: list[Mapping[str, Any]] = []
    for one in records:
        if one.get("kind") == "started":
            steps, validations = ([old for old in lines if _step(old) <= _step(one)] for lines in (steps, validations))
        elif one.get("kind") in ("step", "validation"):
            (steps if one["kind"] == "step" else validations).append(one)
    return steps, validations


def _ends(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for one in records if one.get("kind") == "finished"]


def _validated(record: Mapping[str, Any]) -> Validated:
    sample = record.get("sample")
    is_sample = isinstance(sample, list) and len(sample) == 3 and all(isinstance(one, str) for one in sample)
    figures = {name: _number(record.get(name)) for name in FIGURES}
    return Validated(
        _step(record), _number(record.get("training_seconds")), figures, tuple(sample) if is_sample else None
    )


def _step(record: Mapping[str, Any]) -> int:
    found = record.get("step")
    return found if isinstance(found, int) else 0


def _number(value: Any) -> float | None:
    """A finite number; the log writes others as texts, which have no place in a curve."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _flat(mapping: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """Full keys and values that JSON can hold."""
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", json.loads(json.dumps(value, default=str))
