"""Residual connections around a sub-layer: the paper's post-norm, pre-norm, a norm on the branch, and two ablations.

Section 3.1 of the paper; Xiong et al. 2020; Liu et al. 2022. A connection has two halves, because a sub-layer may need
its input more than once (for its cache):

    inside = connection.before(x)
    x = connection.after(x, sublayer(inside))

Layers keep their connections as `attention_wiring`, `feedforward_wiring`, ...: files of weights have these names.
"""

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.normalisation import Norm, dropped_sum, layer_norm, norm_of_sum, takes_dropped_sum, takes_sum
from openwork.nn.shapes import Vectors


@runtime_checkable
class SublayerConnection(Protocol):
    """Connects a sub-layer with the residual stream."""

    def before(self, x: Tensor) -> Tensor: ...
    def after(self, x: Tensor, sublayer_output: Tensor) -> Tensor: ...


class ResidualSum(nn.Module):
    """x + Dropout(Sublayer(x)) (section 5.4 of the paper)."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, x: Vectors, sublayer_output: Vectors) -> Vectors:
        if self.training and takes_dropped_sum(x, sublayer_output, self.dropout.rate):
            return dropped_sum(x, sublayer_output, self.dropout.rate)
        return x + self.dropout(sublayer_output)


class NormConnection(nn.Module, ABC):
    """A residual connection with a norm; the subclasses say where the norm is.

    `adds_input`: whether the input of the sub-layer is added to its output.
    """

    adds_input = True

    def __init__(self, width: int, dropout: float, norm: Norm = layer_norm) -> None:
        super().__init__()
        self.norm = norm(width)
        self.residual = ResidualSum(dropout)

    def before(self, x: Vectors) -> Vectors:
        return x

    @abstractmethod
    def after(self, x: Vectors, sublayer_output: Vectors) -> Vectors:
        """The residual stream after the sub-layer."""

    @staticmethod
    def final_norm(width: int, norm: Norm = layer_norm) -> nn.Module:
        """The last part of a stack of such layers: a norm, where the stream itself was never normalised."""
        return norm(width)

    @staticmethod
    def norm_width(before: int, after: int) -> int:
        """The width of the norm where a sub-layer changes the width of the stream."""
        return after


class PostNorm(NormConnection):
    """LayerNorm(x + Dropout(Sublayer(x))): the paper's."""

    def after(self, x: Vectors, sublayer_output: Vectors) -> Vectors:
        rate = self.residual.dropout.rate
        if self.training and takes_sum(self.norm, x, sublayer_output, rate):
            return norm_of_sum(self.norm, x, sublayer_output, rate)
        return self.norm(self.residual(x, sublayer_output))

    @staticmethod
    def final_norm(width: int, norm: Norm = layer_norm) -> nn.Module:
        """Nothing: the last layer ends with a norm."""
        return nn.Identity()


class PreNorm(NormConnection):
    """x + Dropout(Sublayer(LayerNorm(x))): the usual choice since (Xiong et al. 2020)."""

    def before(self, x: Vectors) -> Vectors:
        fits = self.training and takes_sum(self.norm, x)
        return norm_of_sum(self.norm, x) if fits else self.norm(x)

    def after(self, x: Vectors, sublayer_output: Vectors) -> Vectors:
        return self.residual(x, sublayer_output)

    @staticmethod
    def norm_width(before: int, after: int) -> int:
        return before


class BranchNorm(NormConnection):
    """x + Dropout(LayerNorm(Sublayer(x))): the norm is on the branch alone (Liu et al. 2022, Swin V2, figure 1).

    Each sub-layer adds a vector of the same size, and the stream grows with depth.
    """

    def after(self, x: Vectors, sublayer_output: Vectors) -> Vectors:
        return self.residual(x, self.norm(sublayer_output))


class WithoutNorm(PostNorm):
    """x + Dropout(Sublayer(x)): an ablation of the norm. `norm` is not used."""

    def __init__(self, width: int, dropout: float, norm: Norm = layer_norm) -> None:
        super().__init__(width, dropout, lambda _: nn.Identity())


class WithoutResidual(PostNorm):
    """LayerNorm(Dropout(Sublayer(x))): an ablation of the residual connection."""

    adds_input = False

    def after(self, x: Tensor, sublayer_output: Vectors) -> Vectors:
        return self.norm(self.residual.dropout(sublayer_output))


class ProjectedResidual(nn.Module):
    """A connection around a sub-layer whose output has another width than its input: W_R x replaces x.

    W_R x + Sublayer(x) (He et al. 2016, equation 2). From 256 to 512 it costs 131,072 weights, which equal widths save.
    """

    def __init__(self, wiring: NormConnection, before: int, after: int) -> None:
        super().__init__()
        self.wiring = wiring
        self.projection = nn.Linear(before, after, bias=False)  # W_R

    def before(self, x: Float[Tensor, "batch position before"]) -> Float[Tensor, "batch position before"]:
        return self.wiring.before(x)

    def after(
        self, x: Float[Tensor, "batch position before"], sublayer_output: Float[Tensor, "batch position after"]
    ) -> Float[Tensor, "batch position after"]:
        """The stream after the sub-layer, as wide as its output."""
        return self.wiring.after(self.projection(x), sublayer_output)
