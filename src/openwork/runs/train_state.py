"""What changes with each update, and how it comes back from a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from openwork.models.interfaces import SequenceModel
from openwork.runs.folder import RunFolder
from openwork.training.checkpoint import resume_latest
from openwork.training.moving_average import MovingAverage
from openwork.training.progress import Progress
from openwork.training.settings import TrainingSettings


@dataclass(frozen=True)
class TrainState:
    """What changes with each update."""

    model: SequenceModel
    optimiser: torch.optim.Optimizer
    moving_average: MovingAverage | None


def resume(folder: RunFolder, state: TrainState, training: TrainingSettings, say: Callable[[str], None]) -> Progress:
    """Puts the newest checkpoint's state into the state, if there is one."""
    resumed = resume_latest(folder.checkpoints, state.model, state.optimiser, state.moving_average)
    if resumed is None:
        return Progress()
    for error in resumed.damaged:
        say(f"passed over a damaged checkpoint: {error.what}")
    progress = resumed.progress
    say(f"continuing after update {progress.step:,} from {resumed.path}")
    every, last = training.validate_every, training.steps
    # the last validation of a run that has become longer since is none that the longer run makes
    progress.validations = [one for one in progress.validations if one.step % every == 0 or one.step == last]
    return progress


def go_back(folder: RunFolder, state: TrainState) -> int | None:
    """Brings the newest checkpoint back and gives its update; None if there is none."""
    parts = state.model, state.optimiser, state.moving_average
    found = resume_latest(folder.checkpoints, *parts, in_trouble=False)
    return None if found is None else found.progress.step
