"""Whether the checkpoints and the bundle fit on the disk of the run's folder."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.machine.available import free_disk
from openwork.models.weights import model_weights
from openwork.runs.plan import size_text
from openwork.runs.preflight.subject import PreflightContext
from openwork.training.checkpoint import checkpoints
from openwork.training.observers.checkpointing import kept_at_once
from openwork.training.optimisers import optimiser_tensors

SPARE = 1.1  # tokenizers, records, and what a file system takes for itself


@dataclass(frozen=True)
class DiskEstimate:
    """Bytes: of a checkpoint and of the bundle's weights, free now, and still needed at least and at most.

    `most`: how many checkpoints may stand side by side.
    """

    checkpoint: int
    bundle: int
    free: int
    least_needed: int
    most_needed: int
    most: int

    @property
    def is_near(self) -> bool:
        """Whether it may become too little."""
        return self.most_needed > self.free


def estimate_disk(subject: PreflightContext) -> DiskEstimate:
    """OpenworkError where there is no room for what will surely be written.

    The optimiser must have made its first update, on trial or in the run: only then its tensors are there.
    """
    weights = _bytes(model_weights(subject.model).values())
    average = subject.moving_average
    averages = _bytes(average.weights.values()) if average is not None else 0
    checkpoint = weights + averages + _bytes(optimiser_tensors(subject.model, subject.optimiser).values())
    there = len(checkpoints(subject.out.checkpoints))
    least, most = (count - there for count in kept_at_once(subject.settings.training))
    # one more at least, before another goes
    needed = [round(SPARE * (max(1, count) * checkpoint + weights)) for count in (least, most)]
    estimate = DiskEstimate(
        checkpoint, weights, free_disk(subject.out.path), needed[0], needed[1], max(1, most) + there
    )
    if estimate.least_needed > estimate.free:
        raise OpenworkError(
            f"{subject.out.path}: the disk has too little room for the checkpoints",
            why=f"this run will write {size_text(estimate.least_needed)} at least, {size_text(checkpoint)} for each of "
            f"them, and {size_text(estimate.free)} are free",
            hint="free some space, name a folder on another disk, or lower training.average",
            code="E022",
        )
    return estimate


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
