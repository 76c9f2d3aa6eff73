"""001's model by its names: embeddings, feed-forward network, norm, residual connection, layers, stacks, the whole.

Layers call the parts that they hold, so each part can be replaced or watched.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from openwork.nn.dropout import Dropout
from openwork.nn.embedding import initialise
from openwork.nn.normalisation import EPSILON
from openwork.nn.positions import SinusoidalPositions
from openwork.nn.shapes import Source, Vectors
from openwork.study.annotated.attention import FILL, AnyMask, MultiHeadAttention, of_target

Target = Int[Tensor, "batch target"]
Memory = Float[Tensor, "batch source width"]
TargetVectors = Float[Tensor, "batch target width"]


class Embed(nn.Module):
    """One vector a token, times sqrt(d_model).

    The first values are N(0, 1), as 001 says; `make_model` draws others, as its own code does too.
    """

    def __init__(self, vocab: int, d_model: int = 512) -> None:
        super().__init__()
        self.vocab = vocab
        self.d_model = d_model
        self.emb = nn.Embedding(vocab, d_model)
        self.scaling = math.sqrt(d_model)

    def forward(self, x: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows width"]:
        return self.emb(x) * self.scaling


class PositionalEncoding(SinusoidalPositions):
    """Adds the sinusoids of the positions to x (batch, position, d_model), then dropout.

    Departs from 001: the table grows when a sentence is longer than `max_len`, and an odd d_model ends with a sine;
    there, both are errors. It is computed in float64 and rounded; there, in float32, far positions are off in the
    fourth decimal. It is saved as `pe`, as in 001, and not loaded, since it can always be computed.
    """

    def __init__(self, d_model: int = 512, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__(d_model, max_len)
        self.max_len = max_len
        self.dropout = Dropout(dropout)

    @property
    def pe(self) -> Float[Tensor, "1 position width"]:
        """The first `max_len` rows of the table as 001 keeps it, a batch of one."""
        return self.table[None, : self.max_len]

    def forward(self, x: Vectors, first: int = 0) -> Vectors:
        """`first` is the position of x's first token in its sentence."""
        return self.dropout(super().forward(x, first))

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}pe"] = self.pe

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any, **named: Any) -> None:
        state_dict.pop(f"{prefix}pe", None)
        super()._load_from_state_dict(state_dict, prefix, *others, **named)


class LayerNorm(nn.Module):
    """gamma (x - mean) / sqrt(variance + eps) + beta over the last axis.

    Departs from 001: its text divides by the deviation of K numbers, its code by that of K - 1, which at a width of 4
    makes all values 13 % smaller; and it adds eps outside the root, where the gradient of a constant row is undefined.
    This is the norm of the paper's reference [1] and of torch.
    """

    def __init__(self, features: int, eps: float = EPSILON) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        return functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)


class ResidualConnection(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): 001's, which it takes for the paper's.

    The paper's is LayerNorm(x + Dropout(Sublayer(x))), `nn.residual.PostNorm`.
    """

    def __init__(self, size: int = 512, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = Dropout(dropout)

    def forward(self, x: Vectors, sublayer: Callable[[Tensor], Tensor]) -> Vectors:
        return x + self.dropout(sublayer(self.norm(x)))


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2 (equation 2), with dropout between the two, which is not in the paper."""

    def __init__(self, d_model: int = 512, d_ff: int = 2048, dropout: float = 0.1) -> None:
        super().__init__()
        self.l1 = nn.Linear(d_model, d_ff)
        self.l2 = nn.Linear(d_ff, d_model)
        self.relu = nn.ReLU()
        self.dropout = Dropout(dropout)

    def forward(self, x: Vectors) -> Vectors:
        return self.l2(self.dropout(self.relu(self.l1(x))))


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each in a residual connection of its own."""

    def __init__(
        self, size: int, self_attn: MultiHeadAttention, feed_forward: FeedForward, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.sub1 = ResidualConnection(size, dropout)
        self.sub2 = ResidualConnection(size, dropout)

    def forward(self, x: Vectors, mask: AnyMask) -> Vectors:
        x = self.sub1(x, lambda x: self.self_attn(x, x, x, mask))
        return self.sub2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the memory, the feed-forward network, each in a residual connection of its own.

    Departs from 001: a `tgt_mask` that is about padding alone is joined with the causal mask; there, every position
    sees what it is to predict. To show the future, give a mask (batch, query, key) with a row for each query.
    """

    def __init__(
        self,
        size: int,
        self_attn: MultiHeadAttention,
        src_attn: MultiHeadAttention,
        feed_forward: FeedForward,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.src_attn = src_attn
        self.feed_forward = feed_forward
        self.sub1 = ResidualConnection(size, dropout)
        self.sub2 = ResidualConnection(size, dropout)
        self.sub3 = ResidualConnection(size, dropout)

    def forward(self, x: TargetVectors, memory: Memory, src_mask: AnyMask, tgt_mask: AnyMask) -> TargetVectors:
        x = self.sub1(x, lambda x: self.self_attn(x, x, x, of_target(tgt_mask)))
        x = self.sub2(x, lambda x: self.src_attn(x, memory, memory, src_mask))
        return self.sub3(x, self.feed_forward)


class Stack(nn.Module):
    """`n` copies of a layer, one after the other, and a norm, which pre-norm needs and the paper's post-norm does not.

    The copies begin with the same weights; `make_model` draws new ones for each. A layer has a `size` and takes what
    `EncoderLayer` or `DecoderLayer` takes; any such module will do.
    """

    def __init__(self, layer: nn.Module, n: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(n))
        self.norm = LayerNorm(layer.size)  # type: ignore[arg-type]


class Encoder(Stack):
    """A stack of encoder layers."""

    def forward(self, x: Vectors, mask: AnyMask) -> Vectors:
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(Stack):
    """A stack of decoder layers; masks as in `DecoderLayer`."""

    def forward(self, x: TargetVectors, memory: Memory, src_mask: AnyMask, tgt_mask: AnyMask) -> TargetVectors:
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.norm(x)


class Output(nn.Module):
    """The logarithms of the probabilities: log softmax(x W + b).

    001's formula has a max(0, .) inside, which neither its code nor the paper has; it is left out here too.
    """

    def __init__(self, input_dim: int, output_dim: int) -> None:
        super().__init__()
        self.l1 = nn.Linear(input_dim, output_dim)
        self.log_softmax = nn.LogSoftmax(dim=-1)

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows vocabulary"]:
        return self.log_softmax(self.l1(x))


class EncoderDecoder(nn.Module):
    """Encoder and decoder between the embeddings and the output layer.

    A target position predicts the token after it, so `tgt` begins with a start symbol and ends before the last token;
    001's example, which gives the whole target and no causal mask, lets the model copy what it should predict. Masks:
    as in `MultiHeadAttention` for the source, as in `DecoderLayer` for the target.
    """

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, src_embed: nn.Module, tgt_embed: nn.Module, final_layer: nn.Module
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.final_layer = final_layer

    def forward(
        self, src: Source, tgt: Target, src_mask: AnyMask, tgt_mask: AnyMask
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Log-probabilities of the token after each target position."""
        return self.final_layer(self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask))

    def encode(self, src: Source, src_mask: AnyMask) -> Memory:
        return self.encoder(self.src_embed(src), src_mask)

    def decode(self, memory: Memory, src_mask: AnyMask, tgt: Target, tgt_mask: AnyMask) -> TargetVectors:
        """The decoder's vectors, before the output layer."""
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)


def make_model(
    input_vocab: int,
    output_vocab: int,
    d_model: int = 512,
    *,
    n: int = 6,
    h: int = 8,
    d_ff: int = 2048,
    dropout: float = 0.1,
    fill: float = FILL,
) -> EncoderDecoder:
    """001's Transformer: pre-norm, two vocabularies, nothing shared, with fresh weights from torch's generator.

    Departs from 001: every part uses `d_model` (there, all but 512 is an error), and the sizes that are defaults of
    its parts can be chosen. First values are those of `nn.embedding.initialise`: Glorot's bound sqrt(6 / (in + out))
    for matrices (001's text has another, its code this one), zero for biases (its text, not its code),
    N(0, 1 / d_model) for embeddings (its text has N(0, 1), its code Glorot's).
    """

    heads = partial(MultiHeadAttention, h, d_model, dropout, fill=fill)
    feed_forward = partial(FeedForward, d_model, d_ff, dropout)
    model = EncoderDecoder(
        Encoder(EncoderLayer(d_model, heads(), feed_forward(), dropout), n),
        Decoder(DecoderLayer(d_model, heads(), heads(), feed_forward(), dropout), n),
        nn.Sequential(Embed(input_vocab, d_model), PositionalEncoding(d_model, dropout)),
        nn.Sequential(Embed(output_vocab, d_model), PositionalEncoding(d_model, dropout)),
        Output(d_model, output_vocab),
    )
    initialise(model)
    return model
