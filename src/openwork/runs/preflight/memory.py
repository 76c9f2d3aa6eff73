"""Whether the fullest batch fits into the memory that is free, by formula.

This is asked before anything is computed: a system that runs out of memory ends the process without a word.
"""

from dataclasses import dataclass

import torch

from openwork.base.errors import OpenworkError
from openwork.machine.available import free_memory
from openwork.runs.plan import memory_of, size_text
from openwork.runs.preflight.longest import DemandingBatch
from openwork.runs.preflight.subject import PreflightContext
from openwork.training.batch_statistics import whole_batch_too_large

NEAR = 0.8  # of what is free: from here on the line is a warning


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on top of what the process has already; `divisions`: into how many parts batches must be divided.

    `free`: None where the system does not say.
    """

    needed: int
    free: int
    divisions: int = 1

    @property
    def is_near(self) -> bool:
        """Whether little is left."""
        return self.needed > NEAR * self.free


def estimate_memory(subject: PreflightContext, batch: DemandingBatch) -> MemoryEstimate:
    """What an update of the fullest batch will add; OpenworkError where not even one of single sentences fits.

    Where all of a batch does not fit, it is divided as an update would divide it (`training/step.py`). On a GPU that is
    left to the update: there, want of memory is an error that can be caught.
    """
    free, workers = _free(subject.device), subject.updater.workers.count
    needed, divisions = _needed(subject, batch, 1), 1
    if subject.updater.whole_batches and subject.device.type == "cpu" and needed > free:
        raise whole_batch_too_large(f"the largest one needs {size_text(needed)} more, and {size_text(free)} are free")
    most = max(1, -(-batch.sentences // workers))
    if _needed(subject, batch, most) > free:
        raise OpenworkError(
            f"this training does not fit into the memory: it needs {size_text(_needed(subject, batch, most))} more, "
            f"and {size_text(free)} are free",
            why="so much take gradients, the optimiser and a single sentence for each worker",
            hint="take a smaller model or vocabulary, fewer training.workers, or end what else runs here",
            code="E023",
        )
    while subject.device.type == "cpu" and needed > free and divisions < most:
        divisions *= 2
        needed = _needed(subject, batch, divisions)
    return MemoryEstimate(needed, free, divisions)


def _needed(subject: PreflightContext, batch: DemandingBatch, divisions: int) -> int:
    """Bytes beyond the weights, their copies and their moving average, which are there already."""
    settings, tokens = subject.settings, batch.target_tokens / divisions
    memory = memory_of(settings, batch.cost, tokens)
    total = memory.resident if subject.device.type == "cpu" else memory.total
    averages = memory.weights if subject.moving_average is not None else 0
    return max(0, total - memory.weights - memory.copies - averages)


def _free(device: torch.device) -> int:
    if device.type != "cuda":
        return free_memory()
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
