"""Weight normalisation (Salimans and Kingma 2016)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class NormalisedLinear(nn.Module):
    """W x + b, where row o of W is gain_o * direction_o / |direction_o| (equation 2): its length is a weight.

    The directions begin as N(0, deviation^2), each gain as its direction's length, biases as zero.
    """

    def __init__(self, inputs: int, outputs: int, deviation: float) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.empty(outputs, inputs).normal_(std=deviation))
        self.gain = nn.Parameter(self.direction.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def weight(self) -> Float[Tensor, "outputs inputs"]:
        """W."""
        return self.direction * (self.gain / self.direction.norm(dim=1))[:, None]

    def forward(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        return functional.linear(x, self.weight(), self.bias)

    def extra_repr(self) -> str:
        outputs, inputs = self.direction.shape
        return f"inputs={inputs}, outputs={outputs}"
