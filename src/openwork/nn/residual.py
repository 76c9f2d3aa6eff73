"""How a sub-layer is wired into the stream: the paper's post-norm, and pre-norm (section 3.1, and Xiong et al. 2020).

A wiring has two moments, because a sub-layer may need its input more than once (for its cache):

    inside = wiring.before(x)
    x = wiring.after(x, sublayer(inside))
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout

EPSILON = 1e-6  # keeps the division by the standard deviation finite; the source documents' value


@runtime_checkable
class Wiring(Protocol):
    """What the layers ask of a residual wiring."""

    def before(self, x: Tensor) -> Tensor: ...
    def after(self, x: Tensor, sublayer_output: Tensor) -> Tensor: ...


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))): the paper's."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.dropout = Dropout(dropout)

    def before(self, x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        """What the sub-layer sees: the stream itself."""
        return x

    def after(
        self, x: Float[Tensor, "batch position width"], sublayer_output: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch position width"]:
        """The stream after the sub-layer."""
        return self.norm(x + self.dropout(sublayer_output))

    @staticmethod
    def final_norm(width: int) -> nn.Module:
        """What closes a stack of such layers: nothing, the last layer ends with a norm."""
        return nn.Identity()


class PreNorm(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): the common practice since; a stack of these ends with a norm."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.dropout = Dropout(dropout)

    def before(self, x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        """What the sub-layer sees: the stream, normalised."""
        return self.norm(x)

    def after(
        self, x: Float[Tensor, "batch position width"], sublayer_output: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch position width"]:
        """The stream after the sub-layer."""
        return x + self.dropout(sublayer_output)

    @staticmethod
    def final_norm(width: int) -> nn.Module:
        """What closes a stack of such layers: nothing has normalised the stream yet."""
        return nn.LayerNorm(width, eps=EPSILON)
