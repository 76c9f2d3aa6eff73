"""The feed-forward network, the norm and the residual connection by 001's names."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn import feedforward
from openwork.nn.dropout import Dropout
from openwork.nn.normalisation import EPSILON, layer_norm
from openwork.nn.residual import PreNorm


class LayerNorm(nn.Module):
    """gamma (x - mean) / sqrt(variance + eps) + beta over the last axis.

    Departs from 001: its text divides by the deviation of K numbers, its code by that of K - 1, which at a width of 4
    makes all values 13 % smaller; and it adds eps outside the root, where the gradient of a constant row is undefined.
    This is the norm of the paper's reference [1] and of torch.
    """

    def __init__(self, features: int, eps: float = EPSILON) -> None:
        super().__init__()
        self.ours = layer_norm(features, eps)
        self.eps = eps

    @property
    def gamma(self) -> nn.Parameter:
        """The gains."""
        return self.ours.weight

    @property
    def beta(self) -> nn.Parameter:
        """The shifts."""
        return self.ours.bias

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        return self.ours(x)


class ResidualConnection(PreNorm):
    """x + Dropout(Sublayer(LayerNorm(x))): 001's, which it takes for the paper's.

    The paper's is LayerNorm(x + Dropout(Sublayer(x))), `nn.residual.PostNorm`.
    """

    def __init__(self, size: int = 512, dropout: float = 0.1) -> None:
        super().__init__(size, dropout, LayerNorm)

    @property
    def dropout(self) -> Dropout:
        """What drops numbers of the sub-layer's output."""
        return self.residual.dropout

    def forward(
        self, x: Float[Tensor, "batch position width"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch position width"]:
        return self.after(x, sublayer(self.before(x)))


class FeedForward(feedforward.FeedForward):
    """max(0, x W_1 + b_1) W_2 + b_2, with dropout between the two, which is not in the paper."""

    def __init__(self, d_model: int = 512, d_ff: int = 2048, dropout: float = 0.1) -> None:
        super().__init__(d_model, d_ff, dropout)

    @property
    def l1(self) -> nn.Linear:
        """W_1 and b_1."""
        return self.expand

    @property
    def l2(self) -> nn.Linear:
        """W_2 and b_2."""
        return self.contract

    @property
    def relu(self) -> nn.Module:
        """max(0, .)."""
        return self.activation

    @property
    def dropout(self) -> Dropout:
        """What drops inner units."""
        return self.inner_dropout
