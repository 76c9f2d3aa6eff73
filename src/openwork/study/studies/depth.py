"""Gradients through layers: an encoder of many layers, with and without residual connections.

The Jacobian of x + F(x) is I + dF/dx: whatever dF/dx does, the identity is a way back for the gradient. That holds for
the sum alone; the paper's norm after each sum multiplies the gradient as well, so that its way is not free. The
documents reason with one number for dF/dx (`openwork explain --example 002-6.4.2`).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from openwork.inspection.plots import Chart, Figures, Series
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.embedding import initialise
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import EncoderLayer
from openwork.nn.masks import EVERYTHING
from openwork.nn.residual import PostNorm, PreNorm, SublayerConnection
from openwork.study.studies.study import Claim, Result, Variant
from openwork.study.studies.table import DepthSettings

NONE = Variant("none", "no residual")
POST = Variant("post_norm", "post-norm")
PRE = Variant("pre_norm", "pre-norm")
KINDS = (NONE, POST, PRE)

VANISHED, FREE = 1e-6, 1e-2  # shares of the gradient: below the one it is gone, above the other the way is free


class NoResidual(nn.Module):
    """Sublayer(x): nothing is added, nothing normalised."""

    def before(self, x: Tensor) -> Tensor:
        return x

    def after(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        return sublayer_output


def connection(kind: Variant, width: int) -> SublayerConnection:
    """A fresh sub-layer connection, without dropout."""
    return NoResidual() if kind == NONE else {POST: PostNorm, PRE: PreNorm}[kind](width, 0.0)


def encoder_layer(kind: Variant, width: int) -> EncoderLayer:
    """Four heads and an inner width of four times the stream's, with fresh weights."""
    attention = MultiHeadAttention(width, Heads(4, width // 4, width // 4))
    layer = EncoderLayer(attention, FeedForward(width, 4 * width), (connection(kind, width), connection(kind, width)))
    initialise(layer)
    return layer.double()


@dataclass(frozen=True)
class DepthData:
    """For each kind the norm of the gradient by what enters layer 1, 2..., and last by what leaves the last one."""

    gradients: dict[str, tuple[float, ...]]

    def kept(self, kind: Variant) -> float:
        """What reaches the first layer, as a share of what enters the last from behind."""
        norms = self.gradients[kind.key]
        return norms[0] / norms[-1]


def gradient_norms(layers: list[EncoderLayer], x: Tensor) -> tuple[float, ...]:
    """Norm of the gradient by the stream before each layer and after the last, where it has a random direction."""
    streams = [x.detach().requires_grad_()]
    for layer in layers:
        streams.append(layer(streams[-1], EVERYTHING))
    gradients = torch.autograd.grad(streams[-1], streams, torch.randn_like(x))
    return tuple(gradient.norm().item() for gradient in gradients)


def measure(sizes: DepthSettings) -> DepthData:
    """Each connection with the same weights and inputs."""
    gradients = {}
    for kind in KINDS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(sizes.seed)
            layers = [encoder_layer(kind, sizes.width) for _ in range(sizes.layers)]
            x = torch.randn(sizes.batch, sizes.positions, sizes.width, dtype=torch.float64)
            gradients[kind.key] = gradient_norms(layers, x)
    return DepthData(gradients)


def run(sizes: DepthSettings) -> Result:
    data = measure(sizes)
    claims = (
        Claim("without residual connections less than a millionth of the gradient is left", data.kept(NONE) < VANISHED),
        Claim("with them and pre-norm at least a hundredth reaches the first layer", data.kept(PRE) > FREE),
        Claim("post-norm loses more than pre-norm: its norms are in the way", data.kept(POST) < data.kept(PRE)),
    )
    shares = [(kind.words, f"{data.kept(kind):.3g}") for kind in KINDS]
    table = Figures("gradient at the first layer", ("connection", "share of the last layer's"), shares)
    lines = tuple(Series(kind.words, list(enumerate(data.gradients[kind.key], 1))) for kind in KINDS)
    chart = Chart("Gradient through the layers", "layer", "norm of the gradient", lines, log_y=True)
    return Result(data, claims, (table,), (chart,))
