"""The batches that need most memory, and whether the fullest one fits, by formula.

The estimate comes before any update: a system that runs out of memory ends the process without a message.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from openwork.base.errors import OpenworkError
from openwork.cost.cost import Cost, cost_of
from openwork.data.store import StoredLengths
from openwork.machine.available import free_memory
from openwork.runs.assembly import TrainingSetup
from openwork.runs.plan import memory_of, size_text
from openwork.training.step import whole_batch_too_large

NEAR = 0.8  # of the free memory: more than this is a warning


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
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
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
    longer = np.maximum(setup.corpus.train.source_lengths, setup.corpus.train.target_lengths) + 1
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
            why="so much take gradients, the optimiser and a single sentence for each worker",
            hint="take a smaller model or vocabulary, fewer training.workers, or end what else runs here",
            code="E023",
        )
    while device.type == "cpu" and needed > free and divisions < most:
        divisions *= 2
        needed = _needed(setup, batch, divisions)
    return MemoryEstimate(needed, free, divisions)


def _needed(setup: TrainingSetup, batch: DemandingBatch, divisions: int) -> int:
    """Bytes beyond the weights, their copies and their moving average, which are there already."""
    memory = memory_of(setup.settings, batch.cost, batch.target_tokens / divisions)
    total = memory.resident if setup.stream.device.type == "cpu" else memory.total
    averages = memory.weights if setup.moving_average is not None else 0
    return max(0, total - memory.weights - memory.copies - averages)
