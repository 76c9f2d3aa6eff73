"""ByteNet, neural machine translation in linear time (Kalchbrenner et al. 2016, section 3): layers and model.

Both networks are stacks of residual blocks with dilated convolutions. The decoder is on top of the encoder: at
position i it reads the encoder's column i besides the target so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from openwork.models.convolutional_settings import ByteNetSettings
from openwork.models.interfaces import Seq2SeqModel
from openwork.nn.cache import Selectable
from openwork.nn.convolution import CausalConvolution, Convolution, Past, dilations, taken, without_padding
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding, initialise, tied_weights
from openwork.nn.normalisation import layer_norm
from openwork.nn.shapes import Hidden, Lengths, Source, Tokens, Vectors


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

    def forward(self, x: Vectors, pasts: tuple[Past, ...]) -> tuple[Vectors, tuple[Past, ...]]:
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


@dataclass(frozen=True)
class ByteNetState(Selectable):
    """The source's columns, the last inputs of the decoder's convolutions, and how many target tokens it has read."""

    columns: Tensor  # (rows, column, width)
    pasts: tuple[Past, ...]
    position: int = 0


class ByteNet(Seq2SeqModel[ByteNetState]):
    """Makes columns of a source; the decoder, on top of them, predicts the token after each target token.

    A source of n tokens has ratio n + extra columns, those behind its end without a token. A target that is longer
    than they reach is written on without the source. `columns`: ratio and extra.
    """

    def __init__(
        self,
        tables: tuple[TokenEmbedding, TokenEmbedding, Tensor],
        encoder: ColumnEncoder,
        decoder: ColumnDecoder,
        dropout: float,
        columns: tuple[float, int],
    ) -> None:
        super().__init__(tables, encoder, decoder, dropout)
        self.ratio, self.extra = columns

    def start(self, source: Source, source_lengths: Lengths) -> ByteNetState:
        size = source.shape[1]
        x = without_padding(self.embedding_dropout(self.source_embedding(source)), source_lengths)
        x = functional.pad(x, (0, 0, 0, math.ceil(size * self.ratio) + self.extra - size))
        columns = self.encoder(x, columns_for(source_lengths, self.ratio, self.extra))
        return ByteNetState(columns, (None,) * len(self.decoder.layers))

    def advance(self, tokens: Tokens, state: ByteNetState) -> tuple[Hidden, ByteNetState]:
        count = tokens.shape[1]
        x = self.embedding_dropout(self.target_embedding(tokens)) + taken(state.columns, state.position, count)
        hidden, pasts = self.decoder(x, state.pasts)
        return hidden, replace(state, pasts=pasts, position=state.position + count)


def build_bytenet(settings: ByteNetSettings, source_vocabulary: int, target_vocabulary: int) -> ByteNet:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s = settings
    make = partial(TokenEmbedding, width=s.width)
    tables = tied_weights(s.tying, make, source_vocabulary, target_vocabulary)
    readers = [block(s.width, s.kernel, d, s.dropout, causal=False) for d in dilations(s.encoder_layers, s.cycle)]
    writers = [block(s.width, s.kernel, d, s.dropout, causal=True) for d in dilations(s.decoder_layers, s.cycle)]
    encoder, decoder = ColumnEncoder(s.width, readers), ColumnDecoder(s.width, writers, s.dropout)
    return initialise(ByteNet(tables, encoder, decoder, s.dropout, (s.length_ratio, s.length_extra)))
