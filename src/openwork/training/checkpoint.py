"""Checkpoints: all that a run needs to continue as if it had never stopped.

A checkpoint is a folder `step-00001000` with `weights.safetensors`, `optimiser.safetensors`, `state.json`, and with
`moving-average.safetensors` where one is kept. It appears under its name only when it is complete, and `state.json`
holds the checksums of all parts.
"""

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from openwork.base.errors import BundleError
from openwork.base.files import sha256_values
from openwork.base.folders import atomic_folder
from openwork.base.printing import json_text
from openwork.base.regular_files import read_regular
from openwork.models.weights import MOST_BYTES, model_weights, read_tensors, restore_weights, tensors_to_bytes
from openwork.training.averaging import MovingAverage
from openwork.training.loop import LoopState, Observer
from openwork.training.optimisers import optimiser_tensors, restore_optimiser
from openwork.training.progress import Progress, Validation
from openwork.training.settings import TrainingSettings

FORMAT = 1
_NAME = re.compile(r"step-[0-9]+")
WEIGHTS, OPTIMISER, STATE = "weights.safetensors", "optimiser.safetensors", "state.json"
MOVING_AVERAGE = "moving-average.safetensors"
FILES = (STATE, WEIGHTS, OPTIMISER, MOVING_AVERAGE)
_MOST_STATE = 256 << 20  # bytes of state.json, which has a line for each validation
_PROGRESS = "progress"  # the entry of state.json with the place of the run


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    moving_average: MovingAverage | None = None,
) -> Path:
    """Writes `folder/step-N`; a full disk leaves the earlier checkpoints as they were and no half one."""
    path = folder / f"step-{progress.step:08d}"
    tensors = {WEIGHTS: model_weights(model), OPTIMISER: optimiser_tensors(model, optimiser)}
    if moving_average is not None:
        tensors[MOVING_AVERAGE] = moving_average.weights
    with atomic_folder(path, FILES) as partial:
        checksums = {}
        for name, content in tensors.items():
            data = tensors_to_bytes(content)
            checksums[name] = hashlib.sha256(data).hexdigest()
            (partial / name).write_bytes(data)
        place = progress.to_json()
        checksums[_PROGRESS] = sha256_values(place)
        state = {"format": FORMAT, "sha256": checksums, _PROGRESS: place}
        (partial / STATE).write_text(json_text(state, indent=1), encoding="utf-8")
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; that one is whole is known when it is loaded.

    What is left of a removed one, because others put files there, is none. Nor is a link: the older ones of these
    folders are removed, and it leads to a folder that is not the run's.
    """
    found = (path for path in folder.glob("step-*") if _NAME.fullmatch(path.name) and not path.is_symlink())
    return sorted(path for path in found if path.is_dir() and any((path / name).exists() for name in FILES))


def checkpoint_step(path: Path) -> int:
    """The update after which it was written."""
    return int(path.name[5:])


def load_weights(path: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """The weights alone, or their `MOVING_AVERAGE`."""
    _check(path, name, _read_state(path))
    return read_tensors(path / name)


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    moving_average: MovingAverage | None = None,
) -> Progress:
    """Puts weights, optimiser state and moving average back and gives the place of the run.

    Damage is a BundleError.
    """
    state = _read_state(path)
    for name in (WEIGHTS, OPTIMISER, *([MOVING_AVERAGE] if moving_average is not None else [])):
        _check(path, name, state)
    if sha256_values(state[_PROGRESS]) != state["sha256"].get(_PROGRESS):
        raise _incomplete(path)
    restore_weights(model, read_tensors(path / WEIGHTS), str(path))
    try:
        restore_optimiser(model, optimiser, read_tensors(path / OPTIMISER))
        if moving_average is not None:
            moving_average.restore(read_tensors(path / MOVING_AVERAGE))
        return Progress.from_json(state[_PROGRESS])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:  # whole, and not what this run wrote
        raise BundleError(
            f"{path}: this checkpoint belongs to another run",
            why=str(error),
            hint="delete this folder; the checkpoint before it is used",
            code="B065",
        ) from error


class Resumed(NamedTuple):
    """Where a run continues, and which newer checkpoints were passed over because they are damaged."""

    progress: Progress
    path: Path
    damaged: tuple[BundleError, ...]


def resume_latest(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    moving_average: MovingAverage | None = None,
    *,
    in_trouble: bool = True,
) -> Resumed | None:
    """Loads the newest checkpoint that is whole; None when there is none at all.

    Without `in_trouble` one that was written while updates were skipped is passed over.
    """
    damaged: list[BundleError] = []
    for path in reversed(checkpoints(folder)):
        try:
            progress = load_checkpoint(path, model, optimiser, moving_average)
            if in_trouble or not progress.skipped:
                return Resumed(progress, path, tuple(damaged))
        except BundleError as error:
            damaged.append(error)
    if damaged:
        raise damaged[0]
    return None


def remove_checkpoint(path: Path) -> None:
    """Deletes one; the state goes first, so that a half-deleted folder is not loaded. Files of others in it stay."""
    (path / STATE).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        for name in FILES:
            (path / name).unlink(missing_ok=True)
        path.rmdir()


def _read_state(path: Path) -> dict:
    try:
        state = json.loads(read_regular(path / STATE, _MOST_STATE).decode("utf-8"))
        known = state["format"]
        if known != FORMAT:
            raise BundleError(
                f"{path}: written in checkpoint format {known}, this version reads {FORMAT}",
                hint="continue with the openwork that wrote it, or train anew into another folder",
                code="B055",
            )
        if not isinstance(state["sha256"], dict) or not isinstance(state[_PROGRESS], dict):
            raise KeyError(_PROGRESS)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _incomplete(path) from error
    return state


def _incomplete(path: Path) -> BundleError:
    return BundleError(
        f"{path}: not a complete checkpoint",
        why=f"{STATE} is missing or damaged",
        hint="delete this folder",
        code="B056",
    )


def _check(path: Path, name: str, state: dict) -> None:
    try:
        data = read_regular(path / name, MOST_BYTES)
    except OSError as error:
        raise BundleError(
            f"{path}: the checkpoint has lost its {name}", hint="delete this folder", code="B057"
        ) from error
    if hashlib.sha256(data).hexdigest() != state["sha256"].get(name):
        raise BundleError(
            f"{path}: {name} is damaged",
            why=f"its checksum is not the one that was written with it ({len(data):,} bytes)",
            hint="delete this folder; the checkpoint before it is used",
            code="B058",
        )


def kept_at_once(settings: TrainingSettings) -> tuple[int, int]:
    """How many checkpoints stand side by side at the fullest moment of a whole run, at least and at most.

    A new one is written before another goes. At least: each validation was the best so far; at most: the best ones
    are far behind the last ones.
    """
    made = settings.steps // settings.validate_every + (settings.steps % settings.validate_every > 0)
    last = max(settings.average, 2)
    return min(made, last + 1), min(made, last + settings.average + 1)


@dataclass(eq=False)
class CheckpointObserver(Observer):
    """Saves after each validation and at the end of the run, so that a stop loses at most one interval.

    Kept are the last `settings.average` checkpoints of validations, as many that end with the best one, and in any
    case the newest. One that was written in between, because the run was interrupted, goes when a newer one stands:
    so a resumed run averages the very checkpoints that an undisturbed one would.
    """

    folder: Path
    model: nn.Module
    optimiser: torch.optim.Optimizer
    moving_average: MovingAverage | None = None
    _saved_step: int = field(default=-1, init=False)

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._save(run)

    def finished(self, run: LoopState) -> None:
        if run.progress.step != self._saved_step:
            self._save(run)

    def _save(self, run: LoopState) -> None:
        path = save_checkpoint(self.folder, self.model, self.optimiser, run.progress, self.moving_average)
        self._saved_step = run.progress.step
        self._remove_unneeded(run, path)
        run.announce("saved", path)

    def _remove_unneeded(self, run: LoopState, newest: Path) -> None:
        found = checkpoints(self.folder)
        count = run.settings.average
        best = run.progress.best(run.settings.metric)
        steps = {validation.step for validation in run.progress.validations}
        validated = [path for path in found if checkpoint_step(path) in steps]
        until_best = [path for path in validated if best and checkpoint_step(path) <= best.step]
        # two at least, so that there is another when one is damaged
        needed = {newest, *validated[-max(count, 2) :], *until_best[-count:]}
        for path in set(found) - needed:
            remove_checkpoint(path)
