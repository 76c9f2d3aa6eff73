"""Whether the checkpoints and the bundle fit on the disk of the run's folder."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.machine.available import free_disk
from openwork.models.weights import model_weights
from openwork.runs.assembly import TrainingSetup
from openwork.runs.plan import size_text
from openwork.training.checkpoint import checkpoints, kept_at_once
from openwork.training.optimisers import optimiser_tensors

SPARE = 1.1  # for tokenizers, records, and the file system


@dataclass(frozen=True)
class DiskEstimate:
    """Bytes: of a checkpoint and of the bundle's weights, free now, and still needed at least and at most.

    `most`: the largest number of checkpoints at one time.
    """

    checkpoint: int
    bundle: int
    free: int
    least_needed: int
    most_needed: int
    most: int

    @property
    def is_near(self) -> bool:
        """Whether the disk may become full."""
        return self.most_needed > self.free


def estimate_disk(setup: TrainingSetup) -> DiskEstimate:
    """OpenworkError where the least that a run writes does not fit.

    Call it after the first update, on trial or in the run: only then the optimiser has its tensors.
    """
    bundle, average = _bytes(model_weights(setup.model)), setup.moving_average
    checkpoint = bundle + _bytes(optimiser_tensors(setup.model, setup.optimiser))
    checkpoint += _bytes(average.weights) if average is not None else 0
    there = len(checkpoints(setup.folder.checkpoints))
    counts = [count - there for count in kept_at_once(setup.settings.training)]
    # one more at least: a new checkpoint is written before an old one is removed
    least_needed, most_needed = (round(SPARE * (max(1, count) * checkpoint + bundle)) for count in counts)
    free = free_disk(setup.folder.path)
    if least_needed > free:
        raise OpenworkError(
            f"{setup.folder.path}: the disk has too little room for the checkpoints",
            why=f"this run will write {size_text(least_needed)} at least, {size_text(checkpoint)} for each of "
            f"them, and {size_text(free)} are free",
            hint="free some space, name a folder on another disk, or lower training.average",
            code="E022",
        )
    return DiskEstimate(checkpoint, bundle, free, least_needed, most_needed, max(1, counts[1]) + there)


def _bytes(tensors: Mapping[str, Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
