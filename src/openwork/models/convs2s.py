"""Convolutional sequence to sequence learning (Gehring et al. 2017): the whole model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from torch import Tensor, nn

from openwork.models.convolutional_settings import ConvS2SSettings
from openwork.models.interfaces import SequenceModel
from openwork.nn.cache import Selectable
from openwork.nn.convolution import Past
from openwork.nn.convs2s import (
    ConvolutionalDecoder,
    ConvolutionalEncoder,
    ConvolutionalMemory,
    DecoderBlock,
    EncoderBlock,
    MultiStepAttention,
)
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.initialise import initialise, tied_weights
from openwork.nn.kernels import Kernel, fused
from openwork.nn.kernels.recording import weights_of
from openwork.nn.positions import LearnedPositions
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens

DEVIATION = 0.1  # of the first embeddings, section 3.6


@dataclass(frozen=True)
class ConvS2SState(Selectable):
    """The memory, the last inputs of each convolution of the decoder, and how many target tokens have been read."""

    memory: ConvolutionalMemory
    pasts: tuple[Past, ...]
    position: int = 0


class ConvS2S(SequenceModel[ConvS2SState]):
    """Reads a source with the encoder; the decoder predicts the token after each target token.

    Embeddings are not scaled; learned positions are added to them. `output`, a parameter, is the matrix of the output
    layer; with tied weights it is the target embedding's own.
    """

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        positions: Sequence[LearnedPositions],
        encoder: ConvolutionalEncoder,
        decoder: ConvolutionalDecoder,
        output: Tensor,
        dropout: float,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.source_positions, self.target_positions = positions
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    @property
    def maximum_length(self) -> int | None:
        return self.source_positions.maximum_length

    def start(self, source: Source, source_lengths: Lengths) -> ConvS2SState:
        embedded = self.embedding_dropout(self.source_positions(self.source_embedding(source)))
        return ConvS2SState(self.encoder(embedded, source_lengths), (None,) * len(self.decoder.layers))

    def advance(self, tokens: Tokens, state: ConvS2SState) -> tuple[Hidden, ConvS2SState]:
        embedded = self.embedding_dropout(self.target_positions(self.target_embedding(tokens), state.position))
        hidden, pasts = self.decoder(embedded, state.memory, state.pasts)
        return hidden, ConvS2SState(state.memory, pasts, state.position + tokens.shape[1])

    def attend(self, tokens: Tokens, state: ConvS2SState) -> tuple[StepLogits, StepAttention, ConvS2SState]:
        """The weights are those of the last layer's step of attention."""
        with weights_of(self.decoder.layers[-1].cross_attention) as weights:  # type: ignore[arg-type]
            logits, state = self.step(tokens, state)
        return logits, weights[0][:, 0], state


def build_convs2s(
    settings: ConvS2SSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = fused.attention
) -> ConvS2S:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s, embedding_width = settings, settings.stream_start
    make = partial(TokenEmbedding, width=embedding_width, scaled=False)
    source_embedding, target_embedding, output = tied_weights(s.tying, make, source_vocabulary, target_vocabulary)
    positions = [LearnedPositions(embedding_width, s.maximum_length) for _ in range(2)]
    readers = [EncoderBlock(s.width, s.kernel, s.dropout) for _ in range(s.encoder_layers)]
    writers = [
        DecoderBlock(s.width, s.kernel, s.dropout, MultiStepAttention(s.width, embedding_width, kernel))
        for _ in range(s.decoder_layers)
    ]
    encoder = ConvolutionalEncoder(embedding_width, s.width, readers, s.decoder_layers)
    decoder = ConvolutionalDecoder(embedding_width, s.width, writers, s.dropout)
    model = ConvS2S(source_embedding, target_embedding, positions, encoder, decoder, output, s.dropout)
    initialise(model)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=DEVIATION)
    return model
