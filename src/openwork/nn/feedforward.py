"""The position-wise feed-forward network (section 3.3 of the paper), and its gated kin."""

from collections.abc import Callable

from torch import nn

from openwork.nn.dropout import Dropout
from openwork.nn.shapes import Vectors


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (equation 2), the same at every position.

    `inner_dropout` drops inner units while training; it is not in the paper, nor is any `activation` but max(0, .).
    """

    def __init__(
        self, width: int, inner: int, inner_dropout: float = 0.0, activation: Callable[[], nn.Module] = nn.ReLU
    ) -> None:
        super().__init__()
        self.expand = nn.Linear(width, inner)
        self.activation = activation()
        self.inner_dropout = Dropout(inner_dropout)
        self.contract = nn.Linear(inner, width)

    def forward(self, x: Vectors) -> Vectors:
        return self.contract(self.inner_dropout(self.activation(self.expand(x))))


class ConvolutionalFeedForward(nn.Module):
    """The same network as two convolutions with kernels of one position: another way to say it (section 3.3).

    Its matrices have a third axis of size 1; with the same numbers it gives what `FeedForward` gives.
    """

    def __init__(self, width: int, inner: int, inner_dropout: float = 0.0) -> None:
        super().__init__()
        self.expand = nn.Conv1d(width, inner, kernel_size=1)
        self.activation = nn.ReLU()
        self.inner_dropout = Dropout(inner_dropout)
        self.contract = nn.Conv1d(inner, width, kernel_size=1)

    def forward(self, x: Vectors) -> Vectors:
        inner = self.inner_dropout(self.activation(self.expand(x.transpose(1, 2))))
        return self.contract(inner).transpose(1, 2)


class GatedFeedForward(nn.Module):
    """FFN(x) = (activation(x W) * x V) W_2, without biases (Shazeer 2020, equations 5 and 6).

    The activation names the kind: sigmoid GLU, max(0, .) ReGLU, GELU GEGLU, x sigmoid(x) SwiGLU.
    """

    def __init__(self, width: int, inner: int, inner_dropout: float, activation: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)  # W
        self.expand = nn.Linear(width, inner, bias=False)  # V
        self.activation = activation()
        self.inner_dropout = Dropout(inner_dropout)
        self.contract = nn.Linear(inner, width, bias=False)  # W_2

    def forward(self, x: Vectors) -> Vectors:
        return self.contract(self.inner_dropout(self.activation(self.gate(x)) * self.expand(x)))
