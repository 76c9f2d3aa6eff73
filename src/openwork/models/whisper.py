"""Whisper: a Transformer that reads a sound and writes its text (Radford et al. 2023).

A source is a log-mel spectrogram (row, band). Two convolutions make one position of two rows; from there on it is the
paper's model.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.models.parts import POSITIONS, Parts
from openwork.models.seq2seq import Transformer, TransformerState
from openwork.models.settings import SpeechSettings
from openwork.nn.embedding import initialise, output_matrix
from openwork.nn.features import ConvolutionStem
from openwork.nn.kernels import Kernel, packed
from openwork.nn.layers import Decoder, Encoder
from openwork.nn.masks import Mask, real
from openwork.nn.normalisation import real_positions
from openwork.nn.positions import NormalisedPositions, SplitSinusoids
from openwork.nn.shapes import Lengths, Numbers


class Whisper(Transformer):
    """The paper's model with a stem of convolutions in the place of the source embedding."""

    source_embedding: ConvolutionStem

    @property
    def maximum_length(self) -> int | None:
        """That of targets."""
        return self.target_positions.maximum_length

    @property
    def maximum_source_length(self) -> int | None:
        """None: the waves of a source's positions end nowhere."""
        return None

    @property
    def weighs_tokens(self) -> bool:
        """No: a weight is that of two positions of the source."""
        return False

    def packing_problem(self) -> str | None:
        return "sounds are padded"

    def encode(self, source: Numbers, source_lengths: Lengths) -> Float[Tensor, "batch half width"]:
        """The memory: one vector for each two positions."""
        x, lengths = self.source_embedding(source, source_lengths), self.source_embedding.lengths(source_lengths)
        with real_positions(real(lengths, x.shape[1])):
            x = self.embedding_dropout(self.source_positions(x))
            return self.encoder(x, Mask(key_lengths=lengths))

    def start(self, source: Numbers, source_lengths: Lengths) -> TransformerState:
        memory = self.encode(source, source_lengths)
        return TransformerState(self.decoder.start(memory), self.source_embedding.lengths(source_lengths))


def build_whisper(
    settings: SpeechSettings, features: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> Whisper:
    """The model for spectrograms of so many bands, with fresh weights from torch's generator."""
    s, parts = settings, Parts(settings, kernel)
    stem, target = ConvolutionStem(features, s.stream_start, s.masked), parts.embedding(target_vocabulary)
    output = target.table.weight if s.tying == "target" else output_matrix(target_vocabulary, s.stream_start)
    waves, places = parts.positions(), parts.positions()
    if s.positions in POSITIONS:
        added = SplitSinusoids(s.stream_start)
        waves = NormalisedPositions(added, parts.norm(s.stream_start)) if s.embedding_norm else added
    encoder = Encoder(parts.layers(parts.encoder_layer, s.encoder_layers), parts.final_norm())
    decoder = Decoder(parts.layers(parts.decoder_layer, s.decoder_layers), parts.final_norm())
    model = Whisper((stem, target, output), (waves, places), encoder, decoder, parts.narrow(), s.dropout)
    if s.output_bias:
        model.bias = nn.Parameter(torch.zeros(target_vocabulary))
    return initialise(model)
