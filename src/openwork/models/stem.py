"""The paper's model for sources of numbers: a stem makes vectors of them, in the place of the source's embeddings.

A stem is a function of (source, lengths) that also says, with `lengths`, how many positions it leaves. Sounds come
through convolutions (Whisper, Radford et al. 2023), pictures as patches (Dosovitskiy et al. 2021).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.models.parts import POSITIONS, Parts
from openwork.models.seq2seq import Transformer, TransformerState
from openwork.models.settings import CaptionSettings, SpeechSettings
from openwork.nn.embedding import initialise, output_matrix
from openwork.nn.features import ConvolutionStem, PatchStem
from openwork.nn.kernels import Kernel, packed
from openwork.nn.layers import Decoder, Encoder
from openwork.nn.masks import Mask, real
from openwork.nn.normalisation import real_positions
from openwork.nn.positions import NormalisedPositions, SplitSinusoids
from openwork.nn.shapes import Lengths, Numbers


class StemTransformer(Transformer):
    """The paper's model with a stem in the place of the source embedding."""

    source_embedding: Any  # ConvolutionStem or PatchStem

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
        """No: a weight is that of positions of the source, which are no tokens."""
        return False

    def packing_problem(self) -> str | None:
        return "sources of numbers are padded"

    def encode(self, source: Numbers, source_lengths: Lengths) -> Float[Tensor, "batch position width"]:
        """The memory: one vector for each position that the stem leaves."""
        x, lengths = self.source_embedding(source, source_lengths), self.source_embedding.lengths(source_lengths)
        with real_positions(real(lengths, x.shape[1])):
            x = self.embedding_dropout(self.source_positions(x))
            return self.encoder(x, Mask(key_lengths=lengths))

    def start(self, source: Numbers, source_lengths: Lengths) -> TransformerState:
        memory = self.encode(source, source_lengths)
        return TransformerState(self.decoder.start(memory), self.source_embedding.lengths(source_lengths))


def build_whisper(
    settings: SpeechSettings, features: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> StemTransformer:
    """The model for spectrograms of so many bands, with fresh weights from torch's generator."""
    stem = ConvolutionStem(features, settings.stream_start, settings.masked)
    return _build(stem, settings, target_vocabulary, kernel)


def build_captioner(
    settings: CaptionSettings, features: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> StemTransformer:
    """The model for patches of so many numbers, with fresh weights from torch's generator."""
    return _build(PatchStem(features, settings.stream_start), settings, target_vocabulary, kernel)


def _build(
    stem: nn.Module, settings: SpeechSettings | CaptionSettings, target_vocabulary: int, kernel: Kernel
) -> StemTransformer:
    s, parts = settings, Parts(settings, kernel)
    target = parts.embedding(target_vocabulary)
    output = target.table.weight if s.tying == "target" else output_matrix(target_vocabulary, s.stream_start)
    waves, places = parts.positions(), parts.positions()
    if s.positions in POSITIONS:
        added = SplitSinusoids(s.stream_start)
        waves = NormalisedPositions(added, parts.norm(s.stream_start)) if s.embedding_norm else added
    encoder = Encoder(parts.layers(parts.encoder_layer, s.encoder_layers), parts.final_norm())
    decoder = Decoder(parts.layers(parts.decoder_layer, s.decoder_layers), parts.final_norm())
    model = StemTransformer((stem, target, output), (waves, places), encoder, decoder, parts.narrow(), s.dropout)
    if s.output_bias:
        model.bias = nn.Parameter(torch.zeros(target_vocabulary))
    return initialise(model)
