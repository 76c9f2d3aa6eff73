"""Low-rank adapters (LoRA): a linear layer whose matrix is frozen, plus a trained product of two narrow matrices."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class AdaptedLinear(nn.Linear):
    """x W^T + b + s (x A^T) B^T, with A (rank, inputs) and B (outputs, rank) (Hu et al. 2022, equation 3).

    W and b keep their names and their numbers. B is zero at first, so that the layer begins as it was. `scale`, s, is
    kept with the weights, so that they can be merged without the settings.
    """

    scale: Tensor

    def __init__(self, layer: nn.Linear, rank: int, scale: float = 1.0) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias
        place = layer.weight.device
        self.down = nn.Parameter(torch.empty(rank, layer.in_features, device=place))  # A
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank, device=place))  # B
        self.register_buffer("scale", torch.tensor(scale, device=place))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, input: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        narrow = nn.functional.linear(nn.functional.linear(input, self.down), self.up)
        return super().forward(input) + self.scale * narrow

    def merged(self) -> nn.Linear:
        """One matrix W + s B A that does the same."""
        layer = nn.Linear(self.in_features, self.out_features, bias=self.bias is not None, device="meta")
        layer.weight = nn.Parameter(merged_weight(self.weight.detach(), self.down, self.up, self.scale))
        layer.bias = self.bias
        return layer.train(self.training)


def merged_weight(weight: Tensor, down: Tensor, up: Tensor, scale: Tensor) -> Tensor:
    """W + s B A, added up in float64."""
    added = scale.double() * (up.detach().double() @ down.detach().double())
    return (weight.double() + added).to(weight.dtype)
