"""A linear layer whose weight's gradient comes in the layout of the weight.

The framework's own comes transposed, and who adds it to gradients in the weight's layout waits for a slow copy.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class LinearInLayout(torch.autograd.Function):
    """x W^T + b for x of the weight's type."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        rows = gradient.flatten(0, -2)
        by_bias = rows.sum(dim=0, dtype=torch.float32).to(weight.dtype) if ctx.has_bias else None
        return gradient @ weight, rows.T @ x.flatten(0, -2), by_bias


def linear_in_layout(layer: nn.Linear, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows after"]:
    """What `layer` gives, in the type of its weight."""
    return LinearInLayout.apply(x.to(layer.weight.dtype), layer.weight, layer.bias)  # type: ignore[no-any-return]
