"""The batches that need most really computed, and usual ones timed; nothing of it stays (`training/trial.py`)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from openwork.base.errors import OpenworkError
from openwork.data.batching import assemble
from openwork.runs.preflight.longest import DemandingBatch
from openwork.runs.preflight.memory import MemoryEstimate
from openwork.runs.preflight.subject import PreflightContext
from openwork.training.progress import Progress
from openwork.training.step import is_out_of_memory
from openwork.training.trial import timed_trial

TIMED = 5  # updates
MOST_BATCHES = 8  # of each; with more to accumulate, the seconds are those of so many, times how often they go into it
ENOUGH = 2.0  # seconds after which no further one is timed


@dataclass(frozen=True)
class UpdateTrial:
    """`most`: seconds of each batch that needs most; `usual`: of an update of usual ones; `divisions`: as it ended.

    `peak`: bytes that a GPU had given at the fullest moment; None on a CPU.
    """

    most: tuple[float, ...]
    usual: float
    divisions: int
    peak: int | None = None


def try_updates(subject: PreflightContext, batches: Sequence[DemandingBatch], estimate: MemoryEstimate) -> UpdateTrial:
    """OpenworkError where memory is not enough, however a batch is divided."""
    updater, on_gpu = subject.updater, subject.device.type == "cuda"
    updater.divisions = estimate.divisions
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(subject.device)
    try:
        most = tuple(_seconds(subject, batch) for batch in batches)
        usual = _usual(subject)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise OpenworkError(
            "there is not enough memory for what the optimiser keeps of each weight",
            hint='take a smaller model, or training.optimiser = "adafactor", which keeps next to nothing',
            code="E024",
        ) from error
    peak = torch.cuda.max_memory_allocated(subject.device) if on_gpu else None
    return UpdateTrial(most, usual, updater.divisions, peak)


def _seconds(subject: PreflightContext, batch: DemandingBatch) -> float:
    return timed_trial(subject.updater, [subject.stream.arrange(assemble(subject.train, batch.rows), subject.device)])


def _usual(subject: PreflightContext) -> float:
    """Mean seconds of an update of the first batches."""
    place, seconds, begun = Progress(), [], time.perf_counter()
    accumulate = subject.settings.training.accumulate
    count = min(accumulate, MOST_BATCHES)
    while len(seconds) < TIMED and (not seconds or time.perf_counter() - begun < ENOUGH):
        start = time.perf_counter()
        batches = [subject.stream.next(place) for _ in range(count)]
        ready = time.perf_counter() - start
        seconds.append(ready + timed_trial(subject.updater, batches))
    return sum(seconds) / len(seconds) * accumulate / count
