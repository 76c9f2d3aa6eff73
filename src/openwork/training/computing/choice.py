"""How a training computes: divided or whole, padded or packed, compiled or not, with batches ahead or without.

All ways give the same weights up to rounding, and each is there on every device; "auto" takes what pays on this one.
Whether pieces of the source are masked is no such choice: a model that restores them asks for it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from openwork.data.batching import Batch
from openwork.machine.precision import PrecisionName
from openwork.machine.processes import Processes
from openwork.models.interfaces import MaskedModel, NextTokenModel, SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels.gpu.trials import try_training_kernels
from openwork.nn.layers import layers_of
from openwork.nn.normalisation import has_batch_norms
from openwork.training.batches.batch import Stream, TensorBatch, TrainingBatch, prefetched, to_tensors
from openwork.training.batches.language_modelling import Masking, next_token_batch
from openwork.training.batches.packing import FewSizes, choose_layout, pack
from openwork.training.computing.rounding import Rounding
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.loop import LoopState
from openwork.training.progress import Progress
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater

# On a CPU a batch is assembled in a two-thousandth of its update, and a thread next to it would only take a core away.
AHEAD = {"cuda": 2}


def working_copy(
    model: SequenceModel,
    settings: TrainingSettings,
    precision: PrecisionName,
    processes: Processes,
    rounding: Rounding | None = None,
) -> WorkingCopy:
    """What computes a training's updates, as `training.sharding` says; one process has nothing to divide."""
    if settings.sharding == "none" or processes.count == 1:
        return WorkingCopy(model, precision, processes, rounding)
    from openwork.training.computing.sharding import ShardedCopy, SharedOptimiser  # with FSDP, which takes a second

    if settings.sharding == "optimiser":
        return SharedOptimiser(model, precision, processes, rounding)
    return ShardedCopy(model, settings, processes, rounding)


def arrangement(
    settings: TrainingSettings, tokens: int, model: SequenceModel, precision: PrecisionName, device: torch.device
) -> Callable[[Batch, torch.device], TrainingBatch]:
    """What makes a training's batches of the store's: padded or packed, or with pieces that are masked.

    `tokens`: the most that a batch has on its longer side.
    """
    if isinstance(model, MaskedModel | NextTokenModel):
        return validation_arrangement(settings, model, settings.seed)
    if choose_layout(settings.layout, model, precision, device) != "packed":
        return to_tensors
    return partial(pack, sizes=FewSizes.of(tokens)) if can_be_captured(settings, model, device) else pack


def can_be_captured(settings: TrainingSettings, model: SequenceModel, device: torch.device) -> bool:
    """Whether the passes of packed batches can be captured (`captured.py`): one a batch, with the loss's kernel.

    Tries the kernels of a GPU.
    """
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    has_loss = try_training_kernels(model, {(one.heads.width, one.heads.value_width) for one in attentions}, device)
    return has_loss and not settings.r_drop


def validation_arrangement(
    settings: TrainingSettings, model: SequenceModel, seed: int = 0
) -> Callable[[Batch, torch.device], TensorBatch]:
    """The same for validation pairs: padded, and what is masked is the same each time and for every seed."""
    if isinstance(model, MaskedModel):
        begins = model.begins.cpu().numpy()
        return Masking(model.mask_piece, begins, settings.mask_share, settings.mask_whole_words, seed)
    if isinstance(model, NextTokenModel):
        return partial(next_token_batch, backwards=model.is_bidirectional)
    return to_tensors


def is_captured(updater: Updater, stream: Stream) -> bool:
    """Whether the passes of this stream's batches are captured."""
    arrange = getattr(stream, "arrange", None)
    return updater.captured is not None and isinstance(arrange, partial) and arrange.func is pack


@contextmanager
def prepared_stream(
    updater: Updater, stream: Stream, run: LoopState, device: torch.device, report: Callable[[str], None]
) -> Iterator[Stream]:
    """The stream to train with while the block runs: layers compiled and batches ahead, as the settings want it."""
    ahead = run.settings.prefetch
    with ExitStack() as ways:
        updates, captured = run.settings.steps, is_captured(updater, stream)
        if wants_compiling(run.settings.compile, updater.model, device, captured=captured, updates=updates):
            ways.enter_context(compiled_updates(updater, stream, run.progress, report))
        yield ways.enter_context(prefetched(stream, AHEAD.get(device.type, 0) if ahead is None else ahead))


# Forms of one layer that are kept: kinds of layers times kinds of batches. The framework's own limit, 8, is soon
# reached; beyond a limit it goes on without compiling.
FORMS = 32
WORTH_COMPILING = 2_000  # updates: a tenth of a second each, of which it saves a fifth, in 40 seconds


def wants_compiling(
    wanted: str, model: SequenceModel, device: torch.device, *, captured: bool = False, updates: int = WORTH_COMPILING
) -> bool:
    """What the setting means here: "auto" is for GPUs, where small operations cost more to call than to compute.

    Not for passes that are `captured`, of which nothing is called one by one: 42 seconds of compiling the paper's base
    model made them 3 % faster (docs/speed.md). Not for a run of few `updates` in all; by those that are left, a
    continued run would draw other numbers than one without interruption. Never for batch norms: which positions are
    real is said around the layers, where compiled code does not look.
    """
    is_worthwhile = wanted == "auto" and device.type == "cuda" and not captured and updates >= WORTH_COMPILING
    return (wanted == "on" or is_worthwhile) and not has_batch_norms(model)


def _compiled_forward(layer: nn.Module, backend: str) -> Callable[..., Any]:
    """A layer's forward: compiled while it trains, otherwise as it was written."""
    written = layer.forward
    compiled = torch.compile(written, dynamic=True, backend=backend)
    return lambda *inputs: compiled(*inputs) if layer.training else written(*inputs)


@contextmanager
def compiled_layers(model: nn.Module, backend: str = "inductor") -> Iterator[None]:
    """While the block runs, the layers of encoder and decoder train compiled, by one of the framework's compilers.

    Each layer is compiled by itself; all layers of a stack share one compiled form, for all lengths. Weights and their
    names stay as they are. The random numbers of dropout are others than without compiling.
    """
    layers = layers_of(model)
    for layer in layers:
        vars(layer)["forward"] = _compiled_forward(layer, backend)
    try:
        with torch._dynamo.config.patch(recompile_limit=FORMS):
            yield
    finally:
        for layer in layers:
            del vars(layer)["forward"]


@contextmanager
def compiled_updates(
    updater: Updater, stream: Stream, progress: Progress, report: Callable[[str], None], backend: str = "inductor"
) -> Iterator[None]:
    """While the block runs, updates are computed with compiled layers; where that fails, one line says so and why.

    Whether it works depends on the machine (a C++ compiler, headers, a cache that can be written), so the gradients of
    the first batch are computed for rehearsal.
    """
    report("compiling the layers, for which the first update waits")
    with compiled_layers(updater.copy.model, backend):
        problem = _problem(updater, stream.next(Progress(epoch=progress.epoch, batch=progress.batch)))
        if problem is None:
            # What fails later, for another shape, the framework computes uncompiled.
            with torch._dynamo.config.patch(suppress_errors=True):
                yield
            return
    report(f"training without compiling: {problem}")
    yield


def _problem(updater: Updater, batch: TrainingBatch) -> str | None:
    """What goes wrong when the gradients of a batch are computed; None: nothing."""
    from torch._dynamo.exc import TorchDynamoException  # loads the compiler's front end, which takes a second

    try:
        updater.copy.model.train()
        loss = updater.objective(updater.copy.model, batch).smoothed
        torch.autograd.grad(loss, updater.copy.working, allow_unused=True)
    except TorchDynamoException as error:
        return (str(error).splitlines() or [type(error).__name__])[0]
    return None
