"""Convolutional sequence to sequence learning (Gehring et al. 2017, section 3): layers and model.

A block is a convolution with a gated linear unit and a residual connection; each decoder block attends to the whole
source before it adds its input. What adds up two things is scaled by sqrt(0.5), so that a sum varies no more than its
parts (section 3.5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from openwork.models.convolutional_settings import ConvS2SSettings
from openwork.models.interfaces import Seq2SeqModel
from openwork.nn.attention import KernelAttention
from openwork.nn.cache import KeyValue, Selectable
from openwork.nn.convolution import CausalConvolution, Convolution, Past, without_padding
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding, initialise, tied_weights
from openwork.nn.kernels import Kernel, fused
from openwork.nn.masks import Mask
from openwork.nn.positions import LearnedPositions
from openwork.nn.recording import recording
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens, Vectors

HALF = 0.5**0.5


class NormalisedLinear(nn.Module):
    """W x + b, where row o of W is gain_o * direction_o / |direction_o| (Salimans and Kingma 2016, equation 2).

    The directions begin as N(0, deviation^2), each gain as its direction's length, biases as zero.
    """

    def __init__(self, inputs: int, outputs: int, deviation: float) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.empty(outputs, inputs).normal_(std=deviation))
        self.gain = nn.Parameter(self.direction.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def weight(self) -> Float[Tensor, "outputs inputs"]:
        """W."""
        return self.direction * (self.gain / self.direction.norm(dim=1))[:, None]

    def forward(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        return functional.linear(x, self.weight(), self.bias)


def linear(inputs: int, outputs: int, dropout: float = 0.0) -> NormalisedLinear:
    """First weights N(0, p / n) behind a dropout that keeps p, for n inputs (section 3.6)."""
    return NormalisedLinear(inputs, outputs, ((1 - dropout) / inputs) ** 0.5)


def gated(inputs: int, outputs: int, dropout: float) -> NormalisedLinear:
    """First weights N(0, 4 p / n): a gated linear unit leaves a quarter of the variance (appendix A)."""
    return NormalisedLinear(inputs, outputs, (4 * (1 - dropout) / inputs) ** 0.5)


def with_gradient_scaled(x: Tensor, scale: float) -> Tensor:
    """x itself, whose gradient is multiplied by `scale` on its way back."""
    return x.detach() + (x - x.detach()) * scale


@dataclass(frozen=True)
class ConvolutionalMemory(Selectable):
    """The memory of every decoder layer: z_j and (z_j + e_j) sqrt(0.5) of each source token, and the lengths."""

    keys_values: KeyValue
    lengths: Int[Tensor, "rows"]


class MultiStepAttention(KernelAttention):
    """One step of attention with the decoder's state h and the embedding g of the token before (equations 1 and 2).

        d_i = (W_d h_i + b_d + g_i) sqrt(0.5),  a_ij = softmax over j of d_i . z_j,
        c_i = sqrt(m) sum over j of a_ij (z_j + e_j) sqrt(0.5)

    m is the source's length: the sum of m vectors with even weights has an m-th of their variance. W_c c_i + b_c, of
    the layers' width, is given.
    """

    def __init__(self, width: int, embedding_width: int, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.query = linear(width, embedding_width)
        self.output = linear(embedding_width, width)

    def forward(
        self,
        h: Vectors,
        embedded: Float[Tensor, "rows position embedding_width"],
        memory: ConvolutionalMemory,
    ) -> Vectors:
        query = (self.query(h) + embedded) * HALF
        keys_values, mask = memory.keys_values, Mask(key_lengths=memory.lengths)
        context = self.kernel(query[:, None], keys_values.key, keys_values.value, mask, 1.0)[:, 0]
        return self.output(context * memory.lengths.to(context.dtype).sqrt()[:, None, None])


class EncoderBlock(nn.Module):
    """(GLU(convolution(x)) + x) sqrt(0.5)."""

    def __init__(self, width: int, kernel_width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = Convolution(width, 2 * width, kernel_width, linear=partial(gated, dropout=dropout))

    def forward(self, x: Vectors, lengths: Lengths) -> Vectors:
        inside = without_padding(self.dropout(x), lengths)
        return (functional.glu(self.convolution(inside), dim=-1) + x) * HALF


class DecoderBlock(nn.Module):
    """h = GLU(convolution(x)), then ((h + attention(h)) sqrt(0.5) + x) sqrt(0.5)."""

    def __init__(self, width: int, kernel_width: int, dropout: float, cross_attention: MultiStepAttention) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = CausalConvolution(width, 2 * width, kernel_width, linear=partial(gated, dropout=dropout))
        self.cross_attention = cross_attention

    def forward(
        self,
        x: Vectors,
        embedded: Float[Tensor, "rows position embedding_width"],
        memory: ConvolutionalMemory,
        past: Past,
    ) -> tuple[Vectors, Past]:
        """`x` holds the positions after those in the past; returns them and the past that includes them."""
        inside, past = self.convolution(self.dropout(x), past)
        h = functional.glu(inside, dim=-1)
        h = (h + self.cross_attention(h, embedded, memory)) * HALF
        return (h + x) * HALF, past


class ConvolutionalEncoder(nn.Module):
    """From the source's embeddings e to the memory (section 3.2)."""

    def __init__(self, embedding_width: int, width: int, blocks: Sequence[EncoderBlock], attending_layers: int) -> None:
        """`attending_layers`: number of decoder layers, by which the gradient is divided (section 3.5)."""
        super().__init__()
        self.widen = linear(embedding_width, width)
        self.layers = nn.ModuleList(blocks)
        self.narrow = linear(width, embedding_width)
        self.attending_layers = attending_layers

    def forward(self, embedded: Float[Tensor, "batch source embedding_width"], lengths: Lengths) -> ConvolutionalMemory:
        z = self.widen(embedded)
        for layer in self.layers:
            z = layer(z, lengths)
        z = with_gradient_scaled(self.narrow(z), 1 / self.attending_layers)
        return ConvolutionalMemory(KeyValue(z[:, None], ((z + embedded) * HALF)[:, None]), lengths)


class ConvolutionalDecoder(nn.Module):
    """From the target's embeddings g and the memory to the vectors before the output (section 3.3)."""

    def __init__(self, embedding_width: int, width: int, blocks: Sequence[DecoderBlock], dropout: float) -> None:
        super().__init__()
        self.widen = linear(embedding_width, width)
        self.layers = nn.ModuleList(blocks)
        self.narrow = linear(width, embedding_width)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        embedded: Float[Tensor, "rows position embedding_width"],
        memory: ConvolutionalMemory,
        pasts: tuple[Past, ...],
    ) -> tuple[Float[Tensor, "rows position embedding_width"], tuple[Past, ...]]:
        """The positions after those in the layers' pasts, and the pasts that include them."""
        x, grown = self.widen(embedded), []
        for layer, past in zip(self.layers, pasts, strict=True):
            x, past = layer(x, embedded, memory, past)
            grown.append(past)
        return self.dropout(self.narrow(x)), tuple(grown)


DEVIATION = 0.1  # of the first embeddings, section 3.6


@dataclass(frozen=True)
class ConvS2SState(Selectable):
    """The memory, the last inputs of each convolution of the decoder, and how many target tokens have been read."""

    memory: ConvolutionalMemory
    pasts: tuple[Past, ...]
    position: int = 0


class ConvS2S(Seq2SeqModel[ConvS2SState]):
    """The whole model. Embeddings are not scaled; learned positions are added to them."""

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
        with recording(self.decoder.layers[-1].cross_attention) as weights:  # type: ignore[arg-type]
            logits, state = self.step(tokens, state)
        return logits, weights[""][0][:, 0], state


def build_convs2s(
    settings: ConvS2SSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = fused.attention
) -> ConvS2S:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s, embedding_width = settings, settings.stream_start
    make = partial(TokenEmbedding, width=embedding_width, scaled=False)
    tables = tied_weights(s.tying, make, source_vocabulary, target_vocabulary)
    positions = [LearnedPositions(embedding_width, s.maximum_length) for _ in range(2)]
    readers = [EncoderBlock(s.width, s.kernel, s.dropout) for _ in range(s.encoder_layers)]
    writers = [
        DecoderBlock(s.width, s.kernel, s.dropout, MultiStepAttention(s.width, embedding_width, kernel))
        for _ in range(s.decoder_layers)
    ]
    encoder = ConvolutionalEncoder(embedding_width, s.width, readers, s.decoder_layers)
    decoder = ConvolutionalDecoder(embedding_width, s.width, writers, s.dropout)
    model = initialise(ConvS2S(tables, encoder, decoder, s.dropout, positions))
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=DEVIATION)
    return model
