"""The position-wise feed-forward network (section 3.3 of the paper)."""

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (equation 2), the same at every position.

    `inner_dropout` drops inner units while training; it is not in the paper.
    """

    def __init__(self, width: int, inner: int, inner_dropout: float = 0.0) -> None:
        super().__init__()
        self.expand = nn.Linear(width, inner)
        self.activation = nn.ReLU()
        self.inner_dropout = Dropout(inner_dropout)
        self.contract = nn.Linear(inner, width)

    def forward(self, x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        return self.contract(self.inner_dropout(self.activation(self.expand(x))))
