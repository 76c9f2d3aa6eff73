"""Layers of neural machine translation in linear time (Kalchbrenner et al. 2016, section 3).

Both networks are stacks of residual blocks with dilated convolutions. The decoder is on top of the encoder: at
position i it reads the encoder's column i besides the target so far.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.convolution import CausalConvolution, Convolution, Past, without_padding
from openwork.nn.dropout import Dropout
from openwork.nn.normalisation import layer_norm
from openwork.nn.shapes import Lengths, Vectors


def columns_for(lengths: Lengths, ratio: float, extra: int) -> Lengths:
    """|t^| = ratio |s| + extra, rounded up: how many columns a source is given (section 3.2); none without a source."""
    columns = torch.ceil(lengths.double() * ratio).long() + extra
    return columns * (lengths > 0)


class ResidualBlock(nn.Module):
    """x + f(x), f(x) = 1 x 1 (d to 2d) of a convolution (d to d) of 1 x 1 (2d to d) of x (figure 3).

    A layer norm and max(0, .) precede each of the three. 2d is the width, `convolution` the one in the middle.
    """

    def __init__(self, width: int, convolution: Convolution, dropout: float) -> None:
        super().__init__()
        inner = width // 2
        self.first_norm = layer_norm(width)
        self.contract = nn.Linear(width, inner)
        self.second_norm = layer_norm(inner)
        self.convolution = convolution
        self.third_norm = layer_norm(inner)
        self.expand = nn.Linear(inner, width)
        self.dropout = Dropout(dropout)

    def before(self, x: Vectors) -> Float[Tensor, "batch position inner"]:
        """What the convolution reads."""
        return torch.relu(self.second_norm(self.contract(torch.relu(self.first_norm(x)))))

    def after(self, x: Vectors, inside: Float[Tensor, "batch position inner"]) -> Vectors:
        """The block's output, from its input and from what the convolution gave."""
        return x + self.dropout(self.expand(torch.relu(self.third_norm(inside))))


class ColumnEncoder(nn.Module):
    """From the source's embeddings to its columns: blocks whose convolutions see both sides (section 3.2).

    The columns are normalised, so that the sum with an embedding holds as much of the one as of the other.
    """

    def __init__(self, width: int, blocks: Sequence[ResidualBlock]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(blocks)
        self.final_norm = layer_norm(width)

    def forward(self, x: Float[Tensor, "batch column width"], lengths: Lengths) -> Float[Tensor, "batch column width"]:
        """`lengths`: each row's number of columns; those behind it are zero."""
        for block in self.layers:
            inside = without_padding(block.before(x), lengths)  # type: ignore[operator]
            x = block.after(x, block.convolution(inside))  # type: ignore[operator]
        return without_padding(self.final_norm(x), lengths)


class ColumnDecoder(nn.Module):
    """Blocks whose convolutions see nothing later, and the first of the two last 1 x 1 convolutions (section 3.6).

    The other of these is the output matrix.
    """

    def __init__(self, width: int, blocks: Sequence[ResidualBlock], dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(blocks)
        self.final_norm = layer_norm(width)
        self.readout = nn.Linear(width, width)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "rows position width"], pasts: tuple[Past, ...]
    ) -> tuple[Float[Tensor, "rows position width"], tuple[Past, ...]]:
        """`x`: the sums of target embeddings and columns. Returns vectors, and the convolutions' pasts."""
        grown = []
        for block, past in zip(self.layers, pasts, strict=True):
            inside, past = block.convolution(block.before(x), past)  # type: ignore[operator]
            x = block.after(x, inside)  # type: ignore[operator]
            grown.append(past)
        hidden = torch.relu(self.readout(torch.relu(self.final_norm(x))))
        return self.dropout(hidden), tuple(grown)


def block(width: int, kernel_width: int, dilation: int, dropout: float, *, causal: bool) -> ResidualBlock:
    """A block of either network, with fresh weights."""
    kind = CausalConvolution if causal else Convolution
    return ResidualBlock(width, kind(width // 2, width // 2, kernel_width, dilation), dropout)
