"""Heads upon an encoder: one vector for the whole of a source, and vectors that pieces are told from."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.normalisation import Norm
from openwork.nn.shapes import Lengths, PlaceVectors, Vectors


class Pooler(nn.Module):
    """tanh(W h + b) of the vector of the first position, [CLS] (Devlin et al. 2019, in their published code)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: PlaceVectors) -> PlaceVectors:
        return torch.tanh(self.dense(x))


class Transform(nn.Module):
    """Norm(GELU(W h + b)), before masked pieces are told by the embedding's matrix (Devlin et al. 2019, their code).

    `after`: the width of the embeddings.
    """

    def __init__(self, width: int, after: int, norm: Norm) -> None:
        super().__init__()
        self.dense = nn.Linear(width, after)
        self.norm = norm(after)

    def forward(self, x: PlaceVectors) -> Float[Tensor, "batch place after"]:
        return self.norm(nn.functional.gelu(self.dense(x)))


def mean_of(x: Vectors, lengths: Lengths) -> Float[Tensor, "batch width"]:
    """The mean of the first `lengths` vectors of each row, in float32 (Reimers and Gurevych 2019, section 3)."""
    is_real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x.float() * is_real[:, :, None]).sum(dim=1) / lengths[:, None]
