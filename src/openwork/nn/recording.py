"""Other kernels for the attentions of a model, such as one that keeps its weights.

Nothing is stored on a module: what is kept is a value that the caller gets, and the model is as before afterwards.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from openwork.nn.attention import KernelAttention
from openwork.nn.kernels import Kernel, WeightFunction
from openwork.nn.kernels.reference import attention_weights, weighted_sum
from openwork.nn.masks import Mask


class RecordingKernel:
    """Computes equation 1 by the formula and gives its weights (batch, head, query, key) to `keep`."""

    def __init__(self, keep: Callable[[Tensor], None]) -> None:
        self.keep = keep

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
        bias: Tensor | None = None,
        weight_function: WeightFunction | None = None,
    ) -> Tensor:
        weights = (weight_function or attention_weights)(query, key, mask, scale, bias)
        self.keep(weights.detach())
        return weighted_sum(weights, value)


@contextmanager
def lending(model: nn.Module, kernel_of: Callable[[str], Kernel]) -> Iterator[None]:
    """While the block runs, each attention with a kernel has the one for its name; an attention's own name is empty."""
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
def recording(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """While the block runs, the weights (batch, head, query, key) of each call are added to the attention's list."""
    kept: dict[str, list[Tensor]] = {}
    with lending(model, lambda name: RecordingKernel(kept.setdefault(name, []).append)):
        yield kept
