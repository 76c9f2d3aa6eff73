"""Updates on trial: all that an update computes, in its time and with its memory, and nothing that stays of it.

The rate is 0, so no weight moves; the optimiser makes and moves its moments as it would. What it remembered before,
what batch norms did, and the state of the random numbers come back afterwards.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from openwork.models.interfaces import SequenceModel
from openwork.training.batch_statistics import KeptStatistics
from openwork.training.batches.stream import TrainingBatch
from openwork.training.optimisers import optimiser_tensors, restore_optimiser
from openwork.training.step import Updater


@contextmanager
def on_trial(model: SequenceModel, optimiser: torch.optim.Optimizer) -> Iterator[None]:
    """While the block runs, gradients may be made and updates at a rate of 0; none of it is there afterwards."""
    device = next(model.parameters()).device
    remembered = {name: value.clone() for name, value in optimiser_tensors(model, optimiser).items()}
    training, statistics = model.training, KeptStatistics(model)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            for parameter in model.parameters():
                parameter.grad = None
            restore_optimiser(model, optimiser, remembered)
            statistics.put_back()
            model.train(training)
            if device.type == "cuda":
                torch.cuda.empty_cache()


def timed_trial(updater: Updater, batches: Sequence[TrainingBatch]) -> float:
    """The seconds of an update of these batches whose rate is 0; only `on_trial`."""
    start = time.perf_counter()
    last = updater.settings.steps  # by then every group of layers learns
    updater.update(batches, step=last, rate_scale=0.0)
    if torch.cuda.is_available():
        torch.cuda.synchronize()  # the optimiser's step is under way still
    return time.perf_counter() - start
