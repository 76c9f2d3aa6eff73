"""Products of two narrow matrices: beside a frozen matrix (low-rank adapters, LoRA), or in the place of a matrix."""

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


class FactorisedLinear(nn.Module):
    """x D^T E^T + b, with D (rank, inputs) and E (outputs, rank) (Winata et al. 2020, section 2.1)."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(layer.in_features, rank, bias=False)  # D
        self.up = nn.Linear(rank, layer.out_features, bias=layer.bias is not None)  # E

    def forward(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        return self.up(self.down(x))


def factorise(network: nn.Module, rank: int) -> nn.Module:
    """The network with its linear layers as products of rank `rank`."""
    for name, layer in list(network.named_children()):
        if isinstance(layer, nn.Linear):
            setattr(network, name, FactorisedLinear(layer, rank))
    return network


def merged_weight(weight: Tensor, down: Tensor, up: Tensor, scale: Tensor) -> Tensor:
    """W + s B A, added up in float64."""
    added = scale.double() * (up.detach().double() @ down.detach().double())
    return (weight.double() + added).to(weight.dtype)
