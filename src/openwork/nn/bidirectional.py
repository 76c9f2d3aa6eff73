"""A bidirectional language model: one stack reads forwards and one backwards, independently; all layers are outputs.

So each of them may predict the token that it has not come to yet (Peters et al. 2018, section 3.1). In the stacks of
`nn/recurrent.py` the second layer of each direction reads both directions of the first, and would know it already.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.recurrent import cell_layers, run_cells
from openwork.nn.shapes import Lengths, Vectors


class OneDirection(nn.Module):
    """Layers of cells that read in one direction; padding is on the right and is never read before a token."""

    def __init__(self, width: int, layers: int, dropout: float, cell: str = "lstm") -> None:
        super().__init__()
        self.layers = nn.ModuleList(cell_layers(cell, width, width, 1, 0.0) for _ in range(layers))
        self.between = Dropout(dropout)

    def forward(self, x: Vectors) -> list[Vectors]:
        """What each layer knows at each position, the lowest layer first."""
        known: list[Tensor] = []
        for layer in self.layers:
            x, _ = run_cells(layer, self.between(known[-1]) if known else x)
            known.append(x)
        return known


def reversed_rows(x: Vectors, lengths: Lengths) -> Vectors:
    """Each row's first `lengths` vectors in the opposite order; the others keep their places."""
    positions = torch.arange(x.shape[1], device=x.device)
    opposite = lengths[:, None] - 1 - positions
    order = torch.where(opposite >= 0, opposite, positions)
    return x.gather(1, order[:, :, None].expand(-1, -1, x.shape[2]))


class LayerMixture(nn.Module):
    """gamma sum_j s_j h_j with s = softmax(w): what all layers know as one vector (Peters et al. 2018, equation 1).

    At first all layers count alike, and gamma is 1.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    @property
    def shares(self) -> Float[Tensor, "layers"]:
        """How much of each layer is taken; they add up to 1."""
        return self.weights.softmax(dim=0)

    def forward(self, layers: list[Vectors]) -> Vectors:
        return self.scale * torch.stack([share * x for share, x in zip(self.shares, layers, strict=True)]).sum(dim=0)


class Topmost(nn.Module):
    """What the last layer knows, and nothing of those below it."""

    def forward(self, layers: list[Vectors]) -> Vectors:
        return layers[-1]
