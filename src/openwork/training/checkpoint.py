"""Checkpoints: all that a run needs to continue as if it had never stopped.

A checkpoint is a folder `step-00001000` with `weights.safetensors`, `optimiser.safetensors`, `state.json`, and with
`moving-average.safetensors` where one is kept; or with a file for each process that has a part of the tensors
(`shards.py`) in their place. It appears under its name only when it is complete, and `state.json` holds the checksums
of all parts.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from openwork.base.errors import BundleError
from openwork.base.files import sha256_file, sha256_values
from openwork.base.folders import atomic_folder
from openwork.base.printing import json_text
from openwork.base.regular_files import read_regular
from openwork.machine.processes import ALONE, Processes
from openwork.models.weights import MOST_BYTES, model_weights, read_tensors, restore_weights, tensors_to_bytes
from openwork.training.averaging import MovingAverage
from openwork.training.optimisers import optimiser_tensors, restore_optimiser
from openwork.training.progress import Progress

FORMAT, DIVIDED = 1, 2  # of whole tensors, and of parts of them
_NAME = re.compile(r"step-[0-9]+")
_SHARD = re.compile(r"shard-[0-9]+-model-[0-9]+-of-[0-9]+\.safetensors")
WEIGHTS, OPTIMISER, STATE = "weights.safetensors", "optimiser.safetensors", "state.json"
MOVING_AVERAGE = "moving-average.safetensors"
FILES = (STATE, WEIGHTS, OPTIMISER, MOVING_AVERAGE)
_MOST_STATE = 256 << 20  # bytes of state.json, which has a line for each validation
_PROGRESS = "progress"  # the entry of state.json with the place of the run


Tensors = Mapping[str, Mapping[str, Tensor]]
"""The tensors of each file of a checkpoint, by name."""


def tensors_of(
    model: nn.Module, optimiser: torch.optim.Optimizer, moving_average: MovingAverage | None = None
) -> dict[str, dict[str, Tensor]]:
    """What a checkpoint holds (not copies)."""
    tensors = {WEIGHTS: model_weights(model), OPTIMISER: optimiser_tensors(model, optimiser)}
    return tensors if moving_average is None else {**tensors, MOVING_AVERAGE: moving_average.weights}


def path_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def write_whole(path: Path, tensors: Tensors, place: dict[str, Any]) -> None:
    """Writes a checkpoint with one file for each group of tensors. `place`: that of the run.

    A full disk leaves the earlier checkpoints as they were and no half one.
    """
    with atomic_folder(path, FILES) as partial:
        checksums = {}
        for name, content in tensors.items():
            data = tensors_to_bytes(content)
            checksums[name] = hashlib.sha256(data).hexdigest()
            (partial / name).write_bytes(data)
        write_state(partial, FORMAT, checksums, place)


def write_divided(path: Path, tensors: Tensors, place: dict[str, Any], processes: Processes) -> None:
    """Writes a checkpoint with one file for each process, which all of them call at the same time.

    The first process makes the folder, and gives it its name when all parts are there.
    """
    from openwork.training.shards import save_shards  # with torch.distributed's checkpoints, which take a second

    with ExitStack() as stack:
        partial = stack.enter_context(atomic_folder(path, FILES)) if processes.is_first else None
        folder = Path(processes.from_first(partial and str(partial)))
        save_shards(folder, tensors, processes)
        # a process without a part has no file
        own = sorted(folder.glob(f"shard-{processes.rank + 1:05d}-*"))
        checksums = {file.name: sha256_file(file) for file in own}
        found = processes.gather(checksums)
        if processes.is_first:
            write_state(folder, DIVIDED, {name: value for one in found for name, value in one.items()}, place)
    processes.total(0)  # no process goes on before the folder has its name


def write_state(folder: Path, form: int, checksums: Mapping[str, str], place: dict[str, Any]) -> None:
    """Writes the file that makes a checkpoint whole."""
    state = {"format": form, "sha256": {**checksums, _PROGRESS: sha256_values(place)}, _PROGRESS: place}
    (folder / STATE).write_text(json_text(state, indent=1), encoding="utf-8")


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; that one is whole is known when it is loaded.

    What is left of a removed one, because others put files there, is none. Nor is a link: the older ones of these
    folders are removed, and it leads to a folder that is not the run's.
    """
    found = (path for path in folder.glob("step-*") if _NAME.fullmatch(path.name) and not path.is_symlink())
    return sorted(path for path in found if path.is_dir() and any((path / name).exists() for name in FILES))


def checkpoint_step(path: Path) -> int:
    return int(path.name[5:])


def load_weights(path: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """The weights alone, or their `MOVING_AVERAGE`."""
    return _read(path, _checked(path, [name], ALONE), name, lambda _: None)


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    moving_average: MovingAverage | None = None,
    processes: Processes = ALONE,
) -> Progress:
    """Puts weights, optimiser state and moving average back and gives the place of the run.

    Damage is a BundleError. Of several `processes` each checks some of the files.
    """
    averages = [MOVING_AVERAGE] if moving_average is not None else []
    state = _checked(path, [_PROGRESS, WEIGHTS, OPTIMISER, *averages], processes)
    restore_weights(model, _read(path, state, WEIGHTS, model_weights(model).get), str(path))
    try:
        moved = {id(weight) for group in optimiser.param_groups for weight in group["params"]}
        weights = {name: weight for name, weight in model.named_parameters() if id(weight) in moved}
        moments = _read(path, state, OPTIMISER, lambda name: weights.get(name.rsplit("/", 1)[0]))  # as their weights
        restore_optimiser(model, optimiser, moments)
        if moving_average is not None:
            moving_average.restore(_read(path, state, MOVING_AVERAGE, moving_average.weights.get))
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
    processes: Processes = ALONE,
) -> Resumed | None:
    """Loads the newest checkpoint that is whole; None when there is none at all.

    Without `in_trouble` one that was written while updates were skipped is passed over.
    """
    damaged: list[BundleError] = []
    for path in reversed(checkpoints(folder)):
        try:
            progress = load_checkpoint(path, model, optimiser, moving_average, processes)
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
        for file in [path / name for name in FILES] + [one for one in path.iterdir() if _SHARD.fullmatch(one.name)]:
            file.unlink(missing_ok=True)
        path.rmdir()


def _read_state(path: Path) -> dict:
    try:
        state = json.loads(read_regular(path / STATE, _MOST_STATE).decode("utf-8"))
        known = state["format"]
        if known not in (FORMAT, DIVIDED):
            raise BundleError(
                f"{path}: written in checkpoint format {known}, this version reads {FORMAT} and {DIVIDED}",
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


def _checked(path: Path, names: Sequence[str], processes: Processes) -> dict[str, Any]:
    """The state, with these files as they were written. Damage that any process finds is a BundleError on each."""
    state, problem = {}, None
    try:
        state = _read_state(path)
        if _PROGRESS in names and sha256_values(state[_PROGRESS]) != state["sha256"].get(_PROGRESS):
            raise _incomplete(path)
        files = [name for name in names if name != _PROGRESS]
        if state["format"] == DIVIDED:
            files = _shards(path, state)
        for name in processes.part(files):
            _check(path, name, state)
    except BundleError as error:
        problem = error
    found = processes.gather(problem and problem.what)
    if problem is not None:
        raise problem
    if any(found):
        raise BundleError(
            f"{path}: another process cannot read its part of this checkpoint",
            why=next(filter(None, found)),
            hint="delete this folder; the checkpoint before it is used",
            code="B074",
        )
    return state


def _shards(path: Path, state: dict[str, Any]) -> list[str]:
    """The names of the files of parts; only these are there."""
    named = sorted(name for name in state["sha256"] if _SHARD.fullmatch(name))
    if named != sorted(file.name for file in path.glob("*.safetensors")):
        raise _incomplete(path)
    return named


def _read(path: Path, state: dict[str, Any], name: str, like: Callable[[str], Tensor | None]) -> dict[str, Tensor]:
    """The tensors of one file; of those that `like` has divided, this process's part."""
    if state["format"] == DIVIDED:
        from openwork.training.shards import read_shards

        return read_shards(path, name, like, others=name != OPTIMISER)
    whole = read_tensors(path / name)
    if not any(hasattr(like(one), "device_mesh") for one in whole):
        return whole
    from openwork.training.shards import divided_like

    return divided_like(whole, like)


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
