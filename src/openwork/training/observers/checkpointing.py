"""Writes checkpoints, and removes those that nobody needs any more."""

from pathlib import Path

import torch
from torch import nn

from openwork.training.checkpoint import checkpoint_step, checkpoints, remove_checkpoint, save_checkpoint
from openwork.training.moments import LoopState, Observer
from openwork.training.moving_average import MovingAverage
from openwork.training.progress import Validation
from openwork.training.settings import TrainingSettings


def kept_at_once(settings: TrainingSettings) -> tuple[int, int]:
    """How many checkpoints stand side by side at the fullest moment of a whole run, at least and at most.

    A new one is written before another goes. At least: each validation was the best so far; at most: the best ones
    are far behind the last ones.
    """
    made = settings.steps // settings.validate_every + (settings.steps % settings.validate_every > 0)
    last = max(settings.average, 2)
    return min(made, last + 1), min(made, last + settings.average + 1)


class CheckpointObserver(Observer):
    """Saves after each validation and at the end of the run, so that a stop loses at most one interval.

    Kept are the last `settings.average` checkpoints of validations, as many that end with the best one, and in any
    case the newest. One that was written in between, because the run was interrupted, goes when a newer one stands:
    so a resumed run averages the very checkpoints that an undisturbed one would.
    """

    def __init__(
        self,
        folder: Path,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        moving_average: MovingAverage | None = None,
    ) -> None:
        self.folder = folder
        self.model = model
        self.optimiser = optimiser
        self.moving_average = moving_average
        self._saved_step = -1

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._save(run)

    def finished(self, run: LoopState) -> None:
        if run.progress.step != self._saved_step:
            self._save(run)

    def _save(self, run: LoopState) -> None:
        path = save_checkpoint(self.folder, self.model, self.optimiser, run.progress, self.moving_average)
        self._saved_step = run.progress.step
        self._remove_unneeded(run, path)
        run.announce_saved(path)

    def _remove_unneeded(self, run: LoopState, newest: Path) -> None:
        found = checkpoints(self.folder)
        count = run.settings.average
        best = run.progress.best(run.settings.metric)
        steps = {validation.step for validation in run.progress.validations}
        validated = [path for path in found if checkpoint_step(path) in steps]
        until_best = [path for path in validated if best and checkpoint_step(path) <= best.step]
        # two at least, so that there is another when one is damaged
        needed = {newest, *validated[-max(count, 2) :], *until_best[-count:]}
        for path in found:
            if path not in needed:
                remove_checkpoint(path)
