"""Attention weights of a forward pass: seen by lending the model a kernel that keeps them.

Nothing is stored on a module: the record is a value that the caller gets, and the model is as before afterwards.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from openwork.base.pages import render
from openwork.nn.attention import KernelAttention
from openwork.nn.kernels import Kernel
from openwork.nn.kernels.recording import RecordingKernel


@dataclass(repr=False)
class AttentionRecord:
    """Name of the attention module -> weights (batch, head, query, key), one tensor for each call, in order."""

    weights: dict[str, list[Tensor]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"AttentionRecord({len(self.weights)} attentions, {sum(map(len, self.weights.values()))} calls)"

    def _repr_html_(self) -> str:
        rows = [(name, " x ".join(map(str, call.shape))) for name, calls in self.weights.items() for call in calls]
        return render("table.html", columns=("attention", "batch, head, query, key"), rows=rows)


@contextmanager
def lending(model: nn.Module, kernel_of: Callable[[str], Kernel]) -> Iterator[None]:
    """While the block runs, each attention of `model` with a kernel computes with the one that its name is given."""
    found = {name: module for name, module in model.named_modules() if isinstance(module, KernelAttention)}
    kernels = {name: module.kernel for name, module in found.items()}
    try:
        for name, module in found.items():
            module.kernel = kernel_of(name)
        yield
    finally:
        for name, module in found.items():
            module.kernel = kernels[name]


@contextmanager
def recording(model: nn.Module) -> Iterator[AttentionRecord]:
    """While the block runs, every attention of `model` with a kernel notes its weights in the record that is given."""
    record = AttentionRecord()
    with lending(model, lambda name: RecordingKernel(record.weights.setdefault(name, []).append)):
        yield record


def cross_attention(
    model: nn.Module, source: Tensor, source_lengths: Tensor, target_input: Tensor
) -> dict[int, Tensor]:
    """Decoder layer -> cross-attention weights (batch, head, target position, source position), by teacher forcing."""
    model.eval()
    with torch.inference_mode(), recording(model) as record:
        model(source, source_lengths, target_input)
    return {
        int(name.split(".")[2]): calls[0]
        for name, calls in record.weights.items()
        if name.startswith("decoder.layers.") and name.endswith(".cross_attention")
    }
