"""The hidden block of a classifier upon pooled features (Howard and Ruder 2018, section 3.3)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.batch_normalisation import BatchNorm
from openwork.nn.dropout import Dropout
from openwork.nn.shapes import PlaceVectors


class LinearBlock(nn.Module):
    """Dropout(Norm(ReLU(W Dropout(Norm(x)) + b))), what a matrix tells labels from; both norms are batch norms.

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
