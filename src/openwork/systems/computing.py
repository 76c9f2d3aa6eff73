"""How a training computes on its device: how batches are laid out, whether layers are compiled, what is made ready.

All ways give the same weights up to rounding, and each is there on every device; "auto" takes what pays on this one.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch

from openwork.data.batching import Batch
from openwork.models.interfaces import SequenceModel
from openwork.training.batches import to_tensors
from openwork.training.compiling import compiled_updates, wants_compiling
from openwork.training.moments import Run
from openwork.training.packing import choose_layout, pack
from openwork.training.precision import PrecisionName
from openwork.training.prefetch import prefetched
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater
from openwork.training.stream import Stream, TrainingBatch

# On a CPU a batch is assembled in a two-thousandth of its update, and a thread beside would only take a core away.
AHEAD = {"cuda": 2}


def arrangement(
    settings: TrainingSettings, model: SequenceModel, precision: PrecisionName, device: torch.device
) -> Callable[[Batch, torch.device], TrainingBatch]:
    """What makes a training's batches of the store's: padded, or packed."""
    packed = choose_layout(settings.layout, model, precision, device) == "packed"
    return pack if packed else to_tensors


@contextmanager
def made_ready(
    updater: Updater,
    stream: Stream[TrainingBatch],
    run: Run,
    device: torch.device,
    say: Callable[[str], None],
) -> Iterator[Stream[TrainingBatch]]:
    """The stream to train with while the block runs: layers compiled and batches ahead, as the settings want it."""
    ahead = run.settings.prefetch
    with ExitStack() as ways:
        if wants_compiling(run.settings.compile, device):
            ways.enter_context(compiled_updates(updater, stream, run.progress, say))
        yield ways.enter_context(prefetched(stream, AHEAD.get(device.type, 0) if ahead is None else ahead))
