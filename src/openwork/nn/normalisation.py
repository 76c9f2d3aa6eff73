"""What keeps the numbers of a stream near one: layer norm, the paper's, or the root mean square alone."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

Norm = Callable[[int], nn.Module]  # from a width to the module

EPSILON = 1e-6  # keeps the division finite; the source documents' value


def layer_norm(width: int, epsilon: float = EPSILON) -> nn.LayerNorm:
    """(x - mean) / sqrt(variance + epsilon) * gain + shift (Ba, Kiros and Hinton 2016)."""
    return nn.LayerNorm(width, eps=epsilon)


class RMSNorm(nn.Module):
    """x / sqrt(mean of squares + epsilon) * gain (Zhang and Sennrich 2019)."""

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        # The gain in the type of x: the framework warns of two types, and takes a slower way.
        return functional.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.epsilon)
