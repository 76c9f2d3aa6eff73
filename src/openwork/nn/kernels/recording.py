"""The reference kernel, which also keeps its weights; it replaces an attention's kernel during a forward pass."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from openwork.nn.kernels import WeightFunction
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
def weights_of(attention: nn.Module) -> Iterator[list[Tensor]]:
    """While the block runs, an attention adds the weights of each call to the list; then it is as before."""
    kept: list[Tensor] = []
    before = attention.kernel
    attention.kernel = RecordingKernel(kept.append)  # type: ignore[assignment]
    try:
        yield kept
    finally:
        attention.kernel = before
