"""From the vectors of a source's positions to one for the whole of it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Pooler(nn.Module):
    """tanh(W h + b) of the vector of the first position, [CLS] (Devlin et al. 2019, in their published code)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: Float[Tensor, "batch place width"]) -> Float[Tensor, "batch place width"]:
        return torch.tanh(self.dense(x))
