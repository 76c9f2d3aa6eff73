"""How a sub-layer is wired into the stream: the paper's post-norm, pre-norm, and a norm on the branch.

Section 3.1 of the paper; Xiong et al. 2020; Liu et al. 2022.

A wiring has two moments, because a sub-layer may need its input more than once (for its cache):

    inside = wiring.before(x)
    x = wiring.after(x, sublayer(inside))
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.normalisation import Norm, layer_norm


@runtime_checkable
class SublayerConnection(Protocol):
    """What the layers ask of a residual wiring."""

    def before(self, x: Tensor) -> Tensor: ...
    def after(self, x: Tensor, sublayer_output: Tensor) -> Tensor: ...


class ResidualSum(nn.Module):
    """x + Dropout(Sublayer(x)) (section 5.4 of the paper)."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch position width"], sublayer_output: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch position width"]:
        return x + self.dropout(sublayer_output)


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))): the paper's."""

    def __init__(self, width: int, dropout: float, norm: Norm = layer_norm) -> None:
        super().__init__()
        self.norm = norm(width)
        self.residual = ResidualSum(dropout)

    def before(self, x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        """What the sub-layer sees: the stream itself."""
        return x

    def after(
        self, x: Float[Tensor, "batch position width"], sublayer_output: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch position width"]:
        """The stream after the sub-layer."""
        return self.norm(self.residual(x, sublayer_output))

    @staticmethod
    def final_norm(width: int, norm: Norm = layer_norm) -> nn.Module:
        """What closes a stack of such layers: nothing, the last layer ends with a norm."""
        return nn.Identity()

    @staticmethod
    def norm_width(before: int, after: int) -> int:
        """What the norm sees where the stream changes its width: the stream after the sub-layer."""
        return after


class PreNorm(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): the common practice since; a stack of these ends with a norm."""

    def __init__(self, width: int, dropout: float, norm: Norm = layer_norm) -> None:
        super().__init__()
        self.norm = norm(width)
        self.residual = ResidualSum(dropout)

    def before(self, x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        """What the sub-layer sees: the stream, normalised."""
        return self.norm(x)

    def after(
        self, x: Float[Tensor, "batch position width"], sublayer_output: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch position width"]:
        """The stream after the sub-layer."""
        return self.residual(x, sublayer_output)

    @staticmethod
    def final_norm(width: int, norm: Norm = layer_norm) -> nn.Module:
        """What closes a stack of such layers: nothing has normalised the stream yet."""
        return norm(width)

    @staticmethod
    def norm_width(before: int, after: int) -> int:
        """What the norm sees where the stream changes its width: the stream before the sub-layer."""
        return before


class BranchNorm(nn.Module):
    """x + Dropout(LayerNorm(Sublayer(x))): the norm on the branch alone (Liu et al. 2022, Swin V2, figure 1).

    Neither the paper's order nor pre-norm: what is added is always of the same size, and the stream grows with depth.
    """

    def __init__(self, width: int, dropout: float, norm: Norm = layer_norm) -> None:
        super().__init__()
        self.norm = norm(width)
        self.residual = ResidualSum(dropout)

    def before(self, x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        """What the sub-layer sees: the stream itself."""
        return x

    def after(
        self, x: Float[Tensor, "batch position width"], sublayer_output: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch position width"]:
        """The stream after the sub-layer."""
        return self.residual(x, self.norm(sublayer_output))

    @staticmethod
    def final_norm(width: int, norm: Norm = layer_norm) -> nn.Module:
        """What closes a stack of such layers: the stream itself has never been normalised."""
        return norm(width)

    @staticmethod
    def norm_width(before: int, after: int) -> int:
        """What the norm sees where the stream changes its width: what the sub-layer gives."""
        return after


class ProjectedResidual(nn.Module):
    """A wiring round a sub-layer whose output has another width than its input: x W_R takes the place of x.

    W_R x + Sublayer(x), then as the wiring has it (He et al. 2016, equation 2). From 256 to 512 it costs 131,072
    weights, which equal widths everywhere save.
    """

    def __init__(self, wiring: PostNorm | PreNorm | BranchNorm, before: int, after: int) -> None:
        super().__init__()
        self.wiring = wiring
        self.projection = nn.Linear(before, after, bias=False)  # W_R

    def before(self, x: Float[Tensor, "batch position before"]) -> Float[Tensor, "batch position before"]:
        """What the sub-layer sees."""
        return self.wiring.before(x)

    def after(
        self, x: Float[Tensor, "batch position before"], sublayer_output: Float[Tensor, "batch position after"]
    ) -> Float[Tensor, "batch position after"]:
        """The stream after the sub-layer, as wide as its output."""
        return self.wiring.after(self.projection(x), sublayer_output)
