"""The layers of a Transformer, compiled for training: many small operations become few, with one call from Python.

Each layer is compiled by itself. All layers of a stack share one compiled form, so the wait is for one encoder layer
and one decoder layer (forward and backward) and not for whole stacks; lengths are left open, so that it is once for all
batches. Weights, their names and what a checkpoint holds stay as they are: the compiled forward is set to the layers
for the time of a training, and only while they train; validation uses the layers as they were written.

The random numbers of dropout are others than without compiling, so a run is repeated bit for bit by the same choice.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from openwork.models.interfaces import SequenceModel
from openwork.nn.batch_normalisation import has_batch_norms
from openwork.nn.causal import CausalLayer
from openwork.nn.decoder import DecoderLayer
from openwork.nn.encoder import EncoderLayer
from openwork.training.batches.stream import Stream, TrainingBatch
from openwork.training.progress import Progress
from openwork.training.step import Updater

# Forms of one layer that are kept: kinds of layers times kinds of batches. The framework's own limit, 8, is soon
# reached; beyond a limit it goes on without compiling.
FORMS = 32


def wants_compiling(wanted: str, model: SequenceModel, device: torch.device) -> bool:
    """What the setting means here: "auto" is for GPUs, where small operations cost more to call than to compute.

    Never for batch norms: which positions are real is said around the layers, where compiled code does not look.
    """
    return (wanted == "on" or (wanted == "auto" and device.type == "cuda")) and not has_batch_norms(model)


class _CompiledForward:
    """A layer's forward: compiled while it trains, otherwise as it was written."""

    def __init__(self, layer: nn.Module, backend: str) -> None:
        self.layer = layer
        self.written = layer.forward
        self.compiled = torch.compile(layer.forward, dynamic=True, backend=backend)

    def __call__(self, *inputs: Any) -> Any:
        return self.compiled(*inputs) if self.layer.training else self.written(*inputs)


@contextmanager
def compiled_layers(model: nn.Module, backend: str = "inductor") -> Iterator[None]:
    """While the block runs, the layers of encoder and decoder train compiled, by one of the framework's compilers."""
    layers = [module for module in model.modules() if isinstance(module, EncoderLayer | DecoderLayer | CausalLayer)]
    for layer in layers:
        vars(layer)["forward"] = _CompiledForward(layer, backend)
    try:
        with torch._dynamo.config.patch(recompile_limit=FORMS):
            yield
    finally:
        for layer in layers:
            del vars(layer)["forward"]


@contextmanager
def compiled_updates(
    updater: Updater,
    stream: Stream[TrainingBatch],
    progress: Progress,
    say: Callable[[str], None],
    backend: str = "inductor",
) -> Iterator[None]:
    """While the block runs, updates are computed with compiled layers; where that fails, one line says so and why.

    Whether it works depends on the machine (a C++ compiler, headers, a cache that can be written), so the gradients of
    the first batch are computed for rehearsal.
    """
    with compiled_layers(updater.copy.model, backend):
        problem = _problem(updater, stream.next(Progress(epoch=progress.epoch, batch=progress.batch)))
        if problem is None:
            # What fails later, for another shape, the framework computes uncompiled.
            with torch._dynamo.config.patch(suppress_errors=True):
                yield
            return
    say(f"training without compiling: {problem}")
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
