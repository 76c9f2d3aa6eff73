"""The products of linear layers and of their gradients, compiled where that is faster, else the framework's."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from openwork.nn.kernels.native import products


def linear(
    x: Float[Tensor, "*rows width"],
    weight: Float[Tensor, "after width"],
    bias: Tensor | None = None,
    *,
    is_rectified: bool = False,
) -> Float[Tensor, "*rows after"]:
    """x W^T + b, or max(0, .) of it, for which there must be a bias."""
    rows = x.flatten(0, -2)
    if products.takes(rows, weight):
        return products.linear(rows, weight, bias, is_rectified=is_rectified).view(*x.shape[:-1], len(weight))
    if is_rectified:
        assert bias is not None
        made: Tensor = torch._addmm_activation(bias, rows, weight.T)  # type: ignore[attr-defined]
        return made.view(*x.shape[:-1], len(weight))
    return functional.linear(x, weight, bias)


def logits(x: Float[Tensor, "rows width"], weight: Float[Tensor, "after width"]) -> Float[Tensor, "rows after"]:
    """x W^T, whose rows need not lie one after another."""
    return products.logits(x, weight) if products.takes(x, weight) else x @ weight.T


def by_input(
    gradient: Float[Tensor, "*rows after"], weight: Float[Tensor, "after width"]
) -> Float[Tensor, "*rows width"]:
    """The gradient of a loss by x, for that by x W^T."""
    rows = gradient.flatten(0, -2)
    if products.takes(rows, weight.T):
        return products.by_input(rows, weight).view(*gradient.shape[:-1], weight.shape[1])
    return gradient @ weight


def by_weight(gradient: Float[Tensor, "rows after"], x: Float[Tensor, "rows width"]) -> Float[Tensor, "after width"]:
    """The gradient of a loss by W, in the layout of W, for that by x W^T."""
    return products.by_weight(gradient, x) if products.takes(x, gradient.T) else gradient.T @ x


def add_by_weight(
    gradient: Float[Tensor, "rows after"],
    x: Float[Tensor, "rows width"],
    sums: Float[Tensor, "after width"] | None,
) -> Float[Tensor, "after width"]:
    """The gradient by W in float32, added to `sums` of other rows, which are overwritten; None: there are none yet."""
    if products.takes(x, gradient.T):
        sums = torch.zeros(gradient.shape[1], x.shape[1]) if sums is None else sums
        products.add_by_weight(gradient, x, sums)
        return sums
    added = gradient.T @ x
    return added.float() if sums is None else sums.add_(added)
