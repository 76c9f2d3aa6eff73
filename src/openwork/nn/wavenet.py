"""Layers of WaveNet (van den Oord et al. 2016, section 2): causal, dilated, gated, with residuals and skips."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from openwork.nn.convolution import CausalConvolution, Past, gated_tanh
from openwork.nn.dropout import Dropout

Real = Bool[Tensor, "rows position 1"] | None
"""True for the positions that are no padding; it comes before a row. None: all."""


def without(x: Float[Tensor, "rows position width"], real: Real) -> Float[Tensor, "rows position width"]:
    """Zeros at padding: what a convolution reads before any row's beginning."""
    return x if real is None else x.masked_fill(~real, 0.0)


class DilatedLayer(nn.Module):
    """z = tanh(W_f * x) sigmoid(W_g * x) (equation 2); x + V z goes on to the next layer, S z skips to the output.

    The two 1 x 1 convolutions V and S are one matrix. The last layer has S alone.
    """

    def __init__(
        self, width: int, skip_width: int, kernel_width: int, dilation: int, dropout: float, *, is_last: bool = False
    ) -> None:
        super().__init__()
        self.convolution = CausalConvolution(width, 2 * width, kernel_width, dilation)
        self.dropout = Dropout(dropout)
        self.skip_width = skip_width
        self.output = nn.Linear(width, skip_width if is_last else skip_width + width)

    def forward(
        self, x: Float[Tensor, "rows position width"], real: Real, past: Past
    ) -> tuple[Float[Tensor, "rows position width"], Float[Tensor, "rows position skip_width"], Past]:
        """What goes on, what skips, and the past that includes the positions of `x`."""
        inside, past = self.convolution(without(x, real), past)
        made = self.output(self.dropout(gated_tanh(inside)))
        skipped, more = made[..., : self.skip_width], made[..., self.skip_width :]
        return x + more if more.shape[-1] else x, skipped, past


class DilatedStack(nn.Module):
    """A causal convolution, the layers, and max(0, .), 1 x 1, max(0, .) of the sum of what they let skip (figure 4).

    The last 1 x 1 convolution is the output matrix.
    """

    def __init__(self, width: int, kernel_width: int, layers: Sequence[DilatedLayer], dropout: float) -> None:
        super().__init__()
        self.first = CausalConvolution(width, width, kernel_width)
        self.layers = nn.ModuleList(layers)
        self.readout = nn.Linear(layers[0].skip_width, width)
        self.dropout = Dropout(dropout)

    @property
    def pasts(self) -> tuple[Past, ...]:
        """Those of the convolutions before anything was read."""
        return (None,) * (1 + len(self.layers))

    def forward(
        self, x: Float[Tensor, "rows position width"], pasts: tuple[Past, ...], real: Real = None
    ) -> tuple[Float[Tensor, "rows position width"], tuple[Past, ...]]:
        """Vectors of the positions after those in the pasts, and the pasts that include them."""
        x, past = self.first(without(x, real), pasts[0])
        grown, total = [past], None
        for layer, past in zip(self.layers, pasts[1:], strict=True):
            x, skipped, past = layer(x, real, past)
            total = skipped if total is None else total + skipped
            grown.append(past)
        assert total is not None
        return self.dropout(torch.relu(self.readout(torch.relu(total)))), tuple(grown)
