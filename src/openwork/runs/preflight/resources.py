"""Memory and disk: the batches that need most, whether the fullest one fits by formula, and room for checkpoints.

The estimate comes before any update: a system that runs out of memory ends the process without a message.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.cost.cost import Cost, cost_of
from openwork.data.store import StoredLengths
from openwork.machine.available import free_disk, free_memory
from openwork.models.weights import model_weights
from openwork.runs.assembly import TrainingSetup
from openwork.runs.plan import memory_of, size_text
from openwork.training.checkpoint import checkpoints
from openwork.training.observers.saving import kept_at_once
from openwork.training.optimisers import optimiser_tensors
from openwork.training.step import whole_batch_too_large

NEAR = 0.8  # of the free memory: more than this is a warning
SPARE = 1.1  # for tokenizers, records, and the file system


@dataclass(frozen=True)
class DemandingBatch:
    """`source` and `target`: tokens of its longest sentences, end symbols counted; `cost`: of pairs so long."""

    rows: NDArray[np.int64]
    source: int
    target: int
    cost: Cost

    @property
    def sentences(self) -> int:
        return len(self.rows)

    @property
    def target_tokens(self) -> int:
        """Positions of the targets, padding included."""
        return self.sentences * self.target


class MemoryEstimate(NamedTuple):
    """Bytes on top of what the process has already; `divisions`: into how many parts batches must be divided."""

    needed: int
    free: int
    divisions: int = 1


def demanding_batches(setup: TrainingSetup) -> list[DemandingBatch]:
    """The one whose forward pass keeps most for the backward pass, by formula; then the one with the longest sentence.

    The first is the larger of two: the one with the most positions, and the one with the most pairs of positions, which
    attention compares. So only two need the cost of the model. Often both are one.
    """
    plan, store, tokenizers = setup.stream.epoch(0), setup.corpus.train, setup.corpus.tokenizers
    sizes = tokenizers.sizes
    sides = StoredLengths(store.source), StoredLengths(store.target)
    shapes = [(len(rows), *(int(side[rows].max()) + 1 for side in sides)) for rows in plan]
    count, source, target = np.array(shapes, dtype=np.int64).T
    positions = count * (source + target)
    pairs = count * (source**2 + source * target + target**2)

    def batch(place: int) -> DemandingBatch:
        lengths = int(source[place]), int(target[place])
        cost = cost_of(setup.settings.model, *sizes, source_length=lengths[0], target_length=lengths[1])
        return DemandingBatch(plan[place], *lengths, cost)

    batches = {int(place): batch(int(place)) for place in (positions.argmax(), pairs.argmax())}
    fullest = max(batches, key=lambda place: batches[place].cost.kept(batches[place].target_tokens))
    longest = int(np.maximum(source, target).argmax())
    return [batches[fullest], *([batch(longest)] if longest != fullest else [])]


def beyond_budget(setup: TrainingSetup) -> int:
    """How many pairs are longer than a batch may be; each is a batch of its own."""
    longer = np.maximum(setup.corpus.train.source.lengths, setup.corpus.train.target.lengths) + 1
    return int((longer > setup.settings.batches.tokens).sum())


def estimate_memory(setup: TrainingSetup, batch: DemandingBatch) -> MemoryEstimate:
    """The memory that an update of the fullest batch adds; OpenworkError where not even single sentences fit.

    A batch that does not fit is divided as an update would divide it (`training/step.py`). On a GPU the update itself
    divides: there, a lack of memory is an error that can be caught.
    """
    device, needed, divisions = setup.stream.device, _needed(setup, batch, 1), 1
    free = free_memory()
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if setup.updater.whole_batches and device.type == "cpu" and needed > free:
        raise whole_batch_too_large(f"the largest one needs {size_text(needed)} more, and {size_text(free)} are free")
    most = max(1, -(-batch.sentences // setup.updater.workers.count))
    if _needed(setup, batch, most) > free:
        raise OpenworkError(
            f"this training does not fit into the memory: it needs {size_text(_needed(setup, batch, most))} more, "
            f"and {size_text(free)} are free",
            why="gradients, the optimiser and a single sentence for each worker need that much",
            hint="take a smaller model or vocabulary, fewer training.workers, or end what else runs here",
            code="E023",
        )
    while device.type == "cpu" and needed > free and divisions < most:
        divisions *= 2
        needed = _needed(setup, batch, divisions)
    return MemoryEstimate(needed, free, divisions)


def _needed(setup: TrainingSetup, batch: DemandingBatch, divisions: int) -> int:
    """Bytes beyond the weights, their copies and their moving average, which are there already."""
    processes, sharding = setup.processes.count, setup.settings.training.sharding
    tokens = batch.target_tokens / (divisions * processes)
    memory = memory_of(setup.settings, batch.cost, tokens, processes, sharding)
    total = memory.resident if setup.stream.device.type == "cpu" else memory.total
    averages = memory.weights if setup.moving_average is not None else 0
    return max(0, total - memory.weights - memory.copies - averages)


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
