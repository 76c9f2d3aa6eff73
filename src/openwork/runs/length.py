"""The length of a run in updates or minutes, the settings that follow from it, and a new length for a started run.

No torch here.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from openwork.base.config import Layer, build
from openwork.base.errors import UsageError
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.base.records import readable_records
from openwork.runs.file.keys import section_of
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import NewLength, RunFolder
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings

FOLLOWING = ("warmup", "cooldown", "validate_every")
"""Keys of [training] that depend on its `steps`."""
CHOOSING = 5  # validations at the end of a run, to choose among weights, at most
VALIDATING = 0.25  # of the minutes, at most, go into validations


@dataclass(frozen=True)
class MinutesBudget:
    """A length in minutes of training; the user has set the `kept` keys, which do not follow from it."""

    minutes: float
    kept: frozenset[str] = frozenset()

    def applied(self, settings: RunSettings, update: float, validation: float) -> RunSettings:
        """The settings of a run of about so many minutes, where an update and a validation take these seconds."""
        training, seconds = settings.training, 60 * self.minutes
        if "validate_every" in self.kept:
            steps = (seconds - CHOOSING * validation) / (update + validation / training.validate_every)
            return with_steps(settings, max(1, int(steps)), self.kept)
        most = math.ceil(training.steps / training.validate_every)
        looks = max(1, min(most, int(VALIDATING * seconds / max(validation, 1e-9)) - CHOOSING))
        steps = max(1, int((seconds - (looks + CHOOSING) * validation) / update))
        found = with_steps(settings, steps, self.kept)
        return _with(found, validate_every=max(1, math.ceil(steps / looks)))


def with_steps(settings: RunSettings, steps: int, kept: Collection[str] = ()) -> RunSettings:
    """The settings of a run of so many updates: its other lengths in proportion, but for a warm-up, never longer."""
    training = settings.training
    changed = {
        "cooldown": training.cooldown * steps // training.steps,
        "warmup": max(1, min(training.warmup, training.warmup * steps // training.steps)),
        "validate_every": max(1, training.validate_every * steps // training.steps),
    }
    return _with(settings, steps=steps, **{key: value for key, value in changed.items() if key not in kept})


def _with(settings: RunSettings, **changed: Any) -> RunSettings:
    values = settings.model_dump(mode="json", exclude_none=True)
    return build(RunSettings, {**values, "training": {**values["training"], **changed}})


def follow_steps(
    before: Layer, layer: Layer, chosen: Callable[[int], Mapping[str, int]] | None, report: Callable[[str], None]
) -> Layer:
    """The layer with the keys that follow from another `training.steps` than that of the run file (`before`).

    A cool-down of the file that would be longer than the run becomes shorter in proportion. `chosen`: openwork's own
    choice for a number of updates; a key that has it, because openwork wrote the file, is chosen again. Keys that were
    given besides the file stay as they are.
    """
    old, new = section_of(before, "training"), section_of(layer, "training")
    steps, now = old.get("steps", TrainingSettings().steps), new.get("steps")
    if not (_is_count(steps) and _is_count(now)) or steps == now:
        return layer
    changed = {}
    for key in FOLLOWING:
        value = old.get(key)
        if not _is_count(value) or layer.origins.get(f"training.{key}") != before.origins.get(f"training.{key}"):
            continue
        if chosen is not None and chosen(steps).get(key) == value:
            changed[key] = chosen(now)[key]
        elif key == "cooldown" and value > now:
            changed[key] = value * now // steps
    for key, value in changed.items():
        report(Joined(AsIs(f"training.{key} "), f"follows training.steps: {old[key]:,} -> {value:,}"))
    return Layer({**layer.mapping, "training": {**new, **changed}}, layer.origins)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


@dataclass(frozen=True)
class Wanted:
    """The length that a run is to have: updates, or minutes from now; `kept` as in `MinutesBudget`."""

    settings: RunSettings
    steps: int | None = None
    minutes: float | None = None
    kept: frozenset[str] = frozenset()


def new_length(folder: RunFolder, before: RunSettings, wanted: Wanted) -> NewLength:
    """The run `before` with the wanted length; its cool-down follows. OpenworkError where it cannot end there."""
    progress = newest_progress(folder)
    made, old = progress.step, before.training
    steps = wanted.steps or old.steps
    if wanted.minutes is not None:
        steps = made + _updates_in(wanted.minutes, progress, folder)
    if steps <= made and steps != old.steps:
        raise UsageError(
            f"{folder.path}: this run has made {made:,} updates already, and cannot end after {steps:,}",
            hint=f"to end it here: openwork finish {folder.path}",
            code="U089",
        )
    cooldown = wanted.settings.training.cooldown
    if "cooldown" not in wanted.kept and steps != old.steps:
        cooldown = _new_cooldown(old, made, steps)
    after = _with(wanted.settings, steps=steps, cooldown=cooldown)
    patience = after.training.patience
    if folder.is_finished and made < steps and progress.since_best(old.metric) >= patience:
        raise UsageError(
            f"{folder.path}: this run has ended because its {old.metric} no longer improved",
            why=f"training.patience = {patience} allows for as many validations without a better figure",
            hint=f"add --set training.patience={2 * patience}",
            code="U090",
        )
    records, damaged = _records(folder)
    changed = any(record.get("kind") == "changed" and not record.get("exact") for record in records)
    rates = [make_schedule(settings.training, settings.model.width) for settings in (before, after)]
    same = all(rates[0](step) == rates[1](step) for step in range(1, made + 1))
    # a damaged line may have been the record of a change
    return NewLength(before, after, made, is_exact=same and not damaged and not changed)


def _new_cooldown(old: TrainingSettings, made: int, steps: int) -> int:
    """In proportion, from here on at the earliest; where a run that gets shorter is in it, on from its present rate."""
    has_started = made > old.steps - old.cooldown
    if has_started and steps < old.steps:
        return max(0, round((steps + 1 - made) * (old.cooldown + 1) / (old.steps + 1 - made)) - 1)
    return min(old.cooldown * steps // old.steps, steps - made)


def newest_progress(folder: RunFolder) -> Progress:
    """The progress in the newest readable checkpoint; none without a checkpoint."""
    for path in sorted(folder.checkpoints.glob("step-*"), reverse=True):
        try:
            return Progress.from_json(json.loads((path / "state.json").read_text(encoding="utf-8"))["progress"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return Progress()


def _updates_in(minutes: float, progress: Progress, folder: RunFolder) -> int:
    """How many updates fit, at the speed so far, with validations as often."""
    if not progress.step or progress.seconds <= 0:
        raise UsageError(
            f"{folder.path}: this run has no checkpoint yet, so its speed is not known",
            hint="give --steps instead",
            code="U091",
        )
    validating = sum(validation.seconds for validation in progress.validations)
    choosing = CHOOSING * validating / max(1, len(progress.validations))
    return max(1, int((60 * minutes - choosing) / ((progress.seconds + validating) / progress.step)))


def with_budget_of_then(folder: RunFolder, settings: RunSettings, minutes: float) -> RunSettings | None:
    """The settings with the length that these minutes gave when the run in the folder began; None if none began there.

    UsageError for a run that began otherwise, and has a checkpoint.
    """
    before = folder.read_settings()
    known = [record.get("minutes") for record in _records(folder)[0] if record.get("kind") == "budget"]
    if before is not None and known[-1:] == [minutes]:
        return _with(settings, **{key: getattr(before.training, key) for key in ("steps", *FOLLOWING)})
    if newest_progress(folder).step:
        raise UsageError(
            f"{folder.path}: the run in this folder did not begin with --minutes {minutes:g}",
            hint=f"to give it another length: openwork train {folder.path} --minutes {minutes:g}",
            code="U092",
        )
    return None


def history_of(folder: RunFolder) -> Sequence[str]:
    """The changes of the run's length during the run."""
    return [
        f"After update {record['step']:,} this was changed: {'; '.join(record['changes'])}"
        + ("." if record["exact"] else "; the rates before belong to the former length.")
        for record in _records(folder)[0]
        if record.get("kind") == "changed"
    ]


def _records(folder: RunFolder) -> tuple[Sequence[Mapping[str, Any]], Sequence[int]]:
    """The readable records, and the damaged lines: a training does not fail for them."""
    return readable_records(folder.records) if folder.records.is_file() else ((), ())


def length_lines(length: NewLength) -> Sequence[str]:
    """For the user: how the run will end, and whether it is the run that it would have been."""
    training = length.after.training
    lines = [msg(f"this run will end after update {training.steps:,}; {length.made:,} are made")]
    if training.cooldown:
        lines.append(msg(f"its rate will fall from update {training.steps - training.cooldown + 1:,} on"))
    if length.is_exact:
        lines.append(msg("its weights will be those of a run that began with this length"))
    else:
        lines.append(
            msg(
                "its weights will not be those of a run that began with this length: "
                "the rates of the updates so far belong to the former one"
            )
        )
    return lines
