"""Neural machine translation in linear time, ByteNet (Kalchbrenner et al. 2016): the whole model."""

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from openwork.models.convolutional_settings import ByteNetSettings
from openwork.models.interfaces import SequenceModel
from openwork.nn.bytenet import ColumnDecoder, ColumnEncoder, block, columns_for
from openwork.nn.cache import Selectable
from openwork.nn.convolution import Past, dilations, taken, without_padding
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.initialise import initialise, tied_weights
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens


@dataclass(frozen=True)
class ByteNetState(Selectable):
    """The source's columns, the last inputs of each convolution of the decoder, and how many target tokens it has read.

    `source_size`: positions of the source in this batch, padding included.
    """

    columns: Tensor  # (rows, column, width)
    source_lengths: Tensor
    source_size: int
    pasts: tuple[Past, ...]
    position: int = 0


class ByteNet(SequenceModel[ByteNetState]):
    """Makes columns of a source; the decoder, on top of them, predicts the token after each target token.

    A source of n tokens has ratio n + extra columns, those behind its end without a token. A target that is longer
    than they reach is written on without the source. `output`, a parameter, is the matrix of the output layer; with
    tied weights it is the target embedding's own.
    """

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        encoder: ColumnEncoder,
        decoder: ColumnDecoder,
        output: Tensor,
        dropout: float,
        columns: tuple[float, int],
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.ratio, self.extra = columns

    def start(self, source: Source, source_lengths: Lengths) -> ByteNetState:
        size = source.shape[1]
        x = without_padding(self.embedding_dropout(self.source_embedding(source)), source_lengths)
        x = functional.pad(x, (0, 0, 0, math.ceil(size * self.ratio) + self.extra - size))
        columns = self.encoder(x, columns_for(source_lengths, self.ratio, self.extra))
        return ByteNetState(columns, source_lengths, size, (None,) * len(self.decoder.layers))

    def advance(self, tokens: Tokens, state: ByteNetState) -> tuple[Hidden, ByteNetState]:
        count = tokens.shape[1]
        x = self.embedding_dropout(self.target_embedding(tokens)) + taken(state.columns, state.position, count)
        hidden, pasts = self.decoder(x, state.pasts)
        after = ByteNetState(state.columns, state.source_lengths, state.source_size, pasts, state.position + count)
        return hidden, after

    def attend(self, tokens: Tokens, state: ByteNetState) -> tuple[StepLogits, StepAttention, ByteNetState]:
        """There is no attention: target position i reads column i. So all the weight is on source token i, and on
        the last one where the target is longer; the convolutions around the column have seen its neighbours too.
        """
        places = torch.arange(state.position, state.position + tokens.shape[1], device=tokens.device)
        under = torch.minimum(places, state.source_lengths[:, None] - 1)
        logits, after = self.step(tokens, state)
        weights = under[:, :, None] == torch.arange(state.source_size, device=tokens.device)
        return logits, weights.to(logits.dtype), after


def build_bytenet(settings: ByteNetSettings, source_vocabulary: int, target_vocabulary: int) -> ByteNet:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s = settings
    make = partial(TokenEmbedding, width=s.width)
    source_embedding, target_embedding, output = tied_weights(s.tying, make, source_vocabulary, target_vocabulary)
    readers = [block(s.width, s.kernel, d, s.dropout, causal=False) for d in dilations(s.encoder_layers, s.cycle)]
    writers = [block(s.width, s.kernel, d, s.dropout, causal=True) for d in dilations(s.decoder_layers, s.cycle)]
    encoder, decoder = ColumnEncoder(s.width, readers), ColumnDecoder(s.width, writers, s.dropout)
    columns = (s.length_ratio, s.length_extra)
    model = ByteNet(source_embedding, target_embedding, encoder, decoder, output, s.dropout, columns)
    initialise(model)
    return model
