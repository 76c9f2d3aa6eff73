"""Saves checkpoints of a run, and removes those that are no longer needed."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from openwork.training.averaging import MovingAverage
from openwork.training.checkpoint import (
    Tensors,
    checkpoint_step,
    checkpoints,
    path_of,
    remove_checkpoint,
    tensors_of,
    write_whole,
)
from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport


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

    `beside`: a copy is written by a thread while updates go on. On a CPU that gains nothing: the thread takes a core.
    """

    folder: Path
    model: nn.Module
    optimiser: torch.optim.Optimizer
    moving_average: MovingAverage | None = None
    write: Callable[[Path, Tensors, dict[str, Any]], None] = write_whole
    beside: bool = False
    tidies: bool = True  # one of several processes
    _saved_step: int = field(default=-1, init=False)
    _thread: ThreadPoolExecutor | None = field(default=None, init=False)
    _under_way: tuple[Path, Future[None]] | None = field(default=None, init=False)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if self._under_way is not None and self._under_way[1].done():
            self.settle(run)

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._save(run)

    def finished(self, run: LoopState) -> None:
        if run.progress.step != self._saved_step:
            self._save(run)
        self.settle(run)

    def closed(self, run: LoopState) -> None:
        if self._thread is not None:
            self._thread.shutdown()

    def settle(self, run: LoopState) -> None:
        """Waits for the checkpoint that is being written; an error of the thread is raised here."""
        if self._under_way is not None:
            (path, writing), self._under_way = self._under_way, None
            writing.result()
            self._written(run, path)

    def _save(self, run: LoopState) -> None:
        self.settle(run)
        path, place = path_of(self.folder, run.progress.step), run.progress.to_json()
        tensors = tensors_of(self.model, self.optimiser, self.moving_average)
        self._saved_step = run.progress.step
        if self.beside:
            self._thread = self._thread or ThreadPoolExecutor(1, "openwork-checkpoint")
            self._under_way = path, self._thread.submit(self.write, path, _copies(tensors), place)
        else:
            self.write(path, tensors, place)
            self._written(run, path)

    def _written(self, run: LoopState, path: Path) -> None:
        if self.tidies:
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


def _copies(tensors: Tensors) -> Tensors:
    """The tensors as they are now, in the memory of the machine."""

    def copy(tensor: Tensor) -> Tensor:
        tensor = tensor.detach()
        return tensor.clone() if tensor.device.type == "cpu" else tensor.cpu()

    return {file: {name: copy(tensor) for name, tensor in content.items()} for file, content in tensors.items()}
