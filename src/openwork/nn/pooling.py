"""Heads on top of an encoder: poolers, the transform of a masked language model, and a classifier's hidden block."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.masks import real
from openwork.nn.normalisation import BatchNorm, Norm
from openwork.nn.shapes import Lengths, PlaceVectors, Vectors


class Pooler(nn.Module):
    """tanh(W h + b) of the vector of the first position, [CLS] (Devlin et al. 2019, in their published code)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: PlaceVectors) -> PlaceVectors:
        return torch.tanh(self.dense(x))


class Transform(nn.Module):
    """Norm(GELU(W h + b)), from the width to `after`, that of the embeddings (Devlin et al. 2019, their code)."""

    def __init__(self, width: int, after: int, norm: Norm) -> None:
        super().__init__()
        self.dense = nn.Linear(width, after)
        self.norm = norm(after)

    def forward(self, x: PlaceVectors) -> Float[Tensor, "batch place after"]:
        return self.norm(nn.functional.gelu(self.dense(x)))


class LinearBlock(nn.Module):
    """Dropout(Norm(ReLU(W Dropout(Norm(x)) + b))), the input of a label matrix; both norms are batch norms.

    Pooled features of a frozen model differ little between texts, and each on a scale of its own, which the first norm
    takes away.
    """

    def __init__(self, known: int, width: int, dropout: float) -> None:
        super().__init__()
        self.known_norm = BatchNorm(known)
        self.known_dropout = Dropout(dropout)
        self.dense = nn.Linear(known, width)
        self.norm = BatchNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch place known"]) -> PlaceVectors:
        hidden = self.dense(self.known_dropout(self.known_norm(x)))
        return self.dropout(self.norm(torch.relu(hidden)))


def mean_of(x: Vectors, lengths: Lengths) -> Float[Tensor, "batch width"]:
    """The mean of the first `lengths` vectors of each row, in float32 (Reimers and Gurevych 2019, section 3)."""
    return (x.float() * real(lengths, x.shape[1])[:, :, None]).sum(dim=1) / lengths[:, None]


def greatest_of(x: Vectors, lengths: Lengths) -> Float[Tensor, "batch width"]:
    """The greatest of each number among the first `lengths` vectors of each row, one at least."""
    return x.masked_fill(~real(lengths, x.shape[1])[:, :, None], -torch.inf).amax(dim=1)
