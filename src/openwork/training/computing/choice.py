"""How a training computes on its device: how batches are laid out, whether layers are compiled, what is prefetched.

All ways give the same weights up to rounding, and each is there on every device; "auto" takes what pays on this one.
Whether pieces of the source are masked is no such choice: a model that restores them asks for it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch

from openwork.data.batching import Batch
from openwork.machine.precision import PrecisionName
from openwork.models.interfaces import MaskedModel, NextTokenModel, SequenceModel
from openwork.training.batches.batch import TensorBatch, to_tensors
from openwork.training.batches.masking import Masking
from openwork.training.batches.next_token import NextTokenBatches
from openwork.training.batches.packing import choose_layout, pack
from openwork.training.batches.prefetch import prefetched
from openwork.training.batches.stream import Stream, TrainingBatch
from openwork.training.computing.compiling import compiled_updates, wants_compiling
from openwork.training.moments import LoopState
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater

# On a CPU a batch is assembled in a two-thousandth of its update, and a thread beside would only take a core away.
AHEAD = {"cuda": 2}


def arrangement(
    settings: TrainingSettings, model: SequenceModel, precision: PrecisionName, device: torch.device
) -> Callable[[Batch, torch.device], TrainingBatch]:
    """What makes a training's batches of the store's: padded or packed, or with pieces that are masked."""
    if isinstance(model, MaskedModel):
        return Masking.of(model, settings.mask_share, settings.mask_whole_words, settings.seed)
    if isinstance(model, NextTokenModel):
        return NextTokenBatches(model.is_bidirectional)
    packed = choose_layout(settings.layout, model, precision, device) == "packed"
    return pack if packed else to_tensors


def validation_arrangement(
    settings: TrainingSettings, model: SequenceModel
) -> Callable[[Batch, torch.device], TensorBatch]:
    """The same for validation pairs: padded, and what is masked is the same each time and for every seed."""
    if isinstance(model, MaskedModel):
        return Masking.of(model, settings.mask_share, settings.mask_whole_words, seed=0)
    if isinstance(model, NextTokenModel):
        return NextTokenBatches(model.is_bidirectional)
    return to_tensors


@contextmanager
def prepared_stream(
    updater: Updater,
    stream: Stream[TrainingBatch],
    run: LoopState,
    device: torch.device,
    say: Callable[[str], None],
) -> Iterator[Stream[TrainingBatch]]:
    """The stream to train with while the block runs: layers compiled and batches ahead, as the settings want it."""
    ahead = run.settings.prefetch
    with ExitStack() as ways:
        if wants_compiling(run.settings.compile, updater.model, device):
            ways.enter_context(compiled_updates(updater, stream, run.progress, say))
        yield ways.enter_context(prefetched(stream, AHEAD.get(device.type, 0) if ahead is None else ahead))
