"""Writes checkpoints, and removes those that nobody needs any more."""

from pathlib import Path

import torch
from torch import nn

from openwork.training.checkpoint import checkpoint_step, checkpoints, remove_checkpoint, save_checkpoint
from openwork.training.moments import Observer, Run
from openwork.training.progress import Validation


class CheckpointObserver(Observer):
    """Saves after each validation and at the end of the run, so that a stop loses at most one interval.

    Kept are the last `settings.average` checkpoints, and as many that end with the best one.
    """

    def __init__(self, folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        self.folder = folder
        self.model = model
        self.optimiser = optimiser
        self._saved_step = -1

    def validated(self, run: Run, validation: Validation) -> None:
        self._save(run)

    def finished(self, run: Run) -> None:
        if run.progress.step != self._saved_step:
            self._save(run)

    def _save(self, run: Run) -> None:
        path = save_checkpoint(self.folder, self.model, self.optimiser, run.progress)
        self._saved_step = run.progress.step
        self._remove_unneeded(run)
        run.announce_saved(path)

    def _remove_unneeded(self, run: Run) -> None:
        found = checkpoints(self.folder)
        count = run.settings.average
        best = run.progress.best(run.settings.metric)
        until_best = [path for path in found if best and checkpoint_step(path) <= best.step]
        needed = {*found[-max(count, 2) :], *until_best[-count:]}
        for path in found:
            if path not in needed:
                remove_checkpoint(path)
