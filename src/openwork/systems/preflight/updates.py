"""The longest batch really computed, and updates of usual ones timed; nothing of it stays (`training/trial.py`)."""

import time
from dataclasses import dataclass

import torch

from openwork.base.errors import OpenworkError
from openwork.data.batching import assemble
from openwork.systems.preflight.longest import LongestBatch
from openwork.systems.preflight.memory import MemoryOutlook
from openwork.systems.preflight.subject import Subject
from openwork.training.progress import Progress
from openwork.training.step import is_out_of_memory
from openwork.training.trial import timed_trial

TIMED = 5  # updates
ENOUGH = 2.0  # seconds after which no further one is timed


@dataclass(frozen=True)
class UpdateTrial:
    """`longest`: seconds of the longest batch; `usual`: of an update of usual ones; `divisions`: as it went at last.

    `peak`: bytes that a GPU had given at the fullest moment; None on a CPU.
    """

    longest: float
    usual: float
    divisions: int
    peak: int | None = None


def try_updates(subject: Subject, batch: LongestBatch, outlook: MemoryOutlook) -> UpdateTrial:
    """OpenworkError where memory is not enough, however the batch is divided."""
    updater, on_gpu = subject.updater, subject.device.type == "cuda"
    updater.divisions = outlook.divisions
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(subject.device)
    try:
        arranged = subject.stream.arrange(assemble(subject.train, batch.rows), subject.device)
        longest = timed_trial(updater, [arranged])
        del arranged
        usual = _usual(subject)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise OpenworkError(
            "there is not enough memory for what the optimiser keeps of each weight",
            hint='take a smaller model, or training.optimiser = "adafactor", which keeps next to nothing',
        ) from error
    peak = torch.cuda.max_memory_allocated(subject.device) if on_gpu else None
    return UpdateTrial(longest, usual, updater.divisions, peak)


def _usual(subject: Subject) -> float:
    """Mean seconds of the first updates' batches."""
    place, seconds, begun = Progress(), [], time.perf_counter()
    while len(seconds) < TIMED and (not seconds or time.perf_counter() - begun < ENOUGH):
        start = time.perf_counter()
        batches = [subject.stream.next(place) for _ in range(subject.settings.training.accumulate)]
        ready = time.perf_counter() - start
        seconds.append(ready + timed_trial(subject.updater, batches))
    return sum(seconds) / len(seconds)
