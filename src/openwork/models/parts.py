"""The parts of a Transformer's layers, as settings name them. Choices are tables, values their lines."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from openwork.models.layer_settings import BUCKETS, FURTHEST, RELATIVE_DISTANCE, LayerSettings
from openwork.nn.attention import (
    AdditiveScores,
    Heads,
    LinearProducts,
    MultiHeadAttention,
    PlainProducts,
    RectifiedProducts,
    ScaledProducts,
)
from openwork.nn.distances import BucketedBiases, Distances, LinearBiases, NoDistances, RelativeKeys, Rotary
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import ConvolutionalFeedForward, FeedForward, GatedFeedForward
from openwork.nn.kernels import Kernel
from openwork.nn.kernels.chunked import ChunkedKernel
from openwork.nn.layers import CausalLayer, DecoderLayer, EncoderLayer
from openwork.nn.linear_attention import LinearAttention
from openwork.nn.low_rank import factorise
from openwork.nn.low_rank_attention import LowRankAttention
from openwork.nn.normalisation import BatchNorm, Norm, RMSNorm, layer_norm
from openwork.nn.patterns import BigBird, Pattern, SlidingWindow
from openwork.nn.positions import (
    LONGEST_WAVE,
    LearnedPositions,
    NoPositions,
    NormalisedPositions,
    Positions,
    SinusoidalPositions,
    SplitSinusoids,
)
from openwork.nn.residual import (
    BranchNorm,
    NormConnection,
    PostNorm,
    PreNorm,
    ProjectedResidual,
    SublayerConnection,
    WithoutNorm,
    WithoutResidual,
)

CONNECTIONS: dict[str, type[NormConnection]] = {
    "post": PostNorm,
    "pre": PreNorm,
    "branch": BranchNorm,
    "none": WithoutNorm,
    "no-residual": WithoutResidual,
}
SCORE_FUNCTIONS: dict[str, Callable[[LayerSettings], ScaledProducts]] = {
    "scaled": lambda _: ScaledProducts(),
    "unscaled": lambda _: PlainProducts(),
    "relu": lambda _: RectifiedProducts(),
    "additive": lambda s: AdditiveScores(s.heads, s.key_width),
    "linear": lambda _: LinearProducts(),
}
NORMS: dict[str, Callable[..., nn.Module]] = {"layer": layer_norm, "rms": RMSNorm, "batch": BatchNorm}
FEEDFORWARDS: dict[str, Callable[[int, int, float], nn.Module]] = {
    "relu": FeedForward,
    "gelu": partial(FeedForward, activation=nn.GELU),
    "gelu-tanh": partial(FeedForward, activation=partial(nn.GELU, approximate="tanh")),
    "swish": partial(FeedForward, activation=nn.SiLU),
    "glu": partial(GatedFeedForward, activation=nn.Sigmoid),
    "reglu": partial(GatedFeedForward, activation=nn.ReLU),
    "geglu": partial(GatedFeedForward, activation=nn.GELU),
    "geglu-tanh": partial(GatedFeedForward, activation=partial(nn.GELU, approximate="tanh")),
    "swiglu": partial(GatedFeedForward, activation=nn.SiLU),
    "convolution": ConvolutionalFeedForward,
}
# What is added to the embeddings, and what acts inside self-attention; a kind that is in one table only does but that.
POSITIONS: dict[str, Callable[[LayerSettings], SinusoidalPositions | LearnedPositions]] = {
    "sinusoidal": lambda s: SinusoidalPositions(s.stream_start),
    "split-sinusoidal": lambda s: SplitSinusoids(s.stream_start),
    "learned": lambda s: LearnedPositions(s.stream_start, s.table_size),
}
DISTANCES: dict[str, Callable[[LayerSettings, bool], Distances]] = {
    "rotary": lambda s, _: Rotary(s.key_width, base=s.rotary_base or LONGEST_WAVE),
    "alibi": lambda s, _: LinearBiases(s.heads),
    "relative": lambda s, _: RelativeKeys(s.key_width, s.relative_distance or RELATIVE_DISTANCE),
    "bucketed": lambda s, causal: BucketedBiases(s.heads, BUCKETS, FURTHEST, both_ways=not causal),
}
# Which pairs of positions self-attention has, by the number of the layer; "full" is in no table.
PATTERNS: dict[str, Callable[[LayerSettings, int], Pattern]] = {
    "window": lambda s, _: SlidingWindow(s.window_side, global_tokens=s.global_count),
    "blocks": lambda s, layer: BigBird(
        s.block_size, -(-s.window_side // s.block_size), s.global_count, s.random_count, seed=layer
    ),
}


class Parts:
    """Makes the parts of one Transformer, each call a new one."""

    def __init__(self, settings: LayerSettings, kernel: Kernel) -> None:
        self.settings = settings
        chunk = settings.attention_chunk
        self.kernel = kernel if chunk is None else ChunkedKernel(chunk)
        self.connection_kind = CONNECTIONS[settings.norm]
        self.norm: Norm = partial(NORMS[settings.normalisation], epsilon=settings.norm_epsilon)

    def embedding(self, vocabulary: int) -> TokenEmbedding:
        return TokenEmbedding(vocabulary, self.settings.stream_start, self.settings.embedding_scale)

    def positions(self) -> Positions:
        s = self.settings
        added = POSITIONS[s.positions](s) if s.positions in POSITIONS else NoPositions()
        return NormalisedPositions(added, self.norm(s.stream_start)) if s.embedding_norm else added

    def distances(self, causal: bool) -> Distances:
        make = DISTANCES.get(self.settings.positions)
        return make(self.settings, causal) if make else NoDistances()

    def self_attention(self, layer: int, causal: bool) -> MultiHeadAttention:
        s = self.settings
        width, distances = s.stream_start if layer == 0 else s.width, self.distances(causal)
        if s.attention_pattern == "low-rank" and not causal:
            make = partial(LowRankAttention, length=s.table_size, rank=s.mixture_count)
            return self.attention(width, make, distances=distances)
        pattern = PATTERNS[s.attention_pattern](s, layer) if s.attention_pattern in PATTERNS else None
        return self.attention(width, distances=distances, pattern=pattern)

    def attention(
        self, width: int, make: Callable[..., MultiHeadAttention] | None = None, **options: Any
    ) -> MultiHeadAttention:
        """One of the kind that the settings name, unless `make` is another; `options` are for self-attention."""
        s = self.settings
        make = make or (LinearAttention if s.attention == "linear" else MultiHeadAttention)
        attention = make(
            width, Heads(s.heads, s.key_width, s.value_head_width, s.key_value_heads), output_width=s.width,
            bias=s.attention_bias, weight_dropout=s.attention_dropout, kernel=self.kernel, **options,
        )  # fmt: skip
        attention.use_score_function(SCORE_FUNCTIONS[s.attention](s))
        return attention

    def feedforward(self) -> nn.Module:
        s = self.settings
        network = FEEDFORWARDS[s.feedforward](s.width, s.feedforward_width, s.feedforward_dropout)
        return network if s.feedforward_rank is None else factorise(network, s.feedforward_rank)

    def connection(self) -> NormConnection:
        return self.connection_kind(self.settings.width, self.settings.dropout, self.norm)

    def self_attention_connection(self, layer: int) -> SublayerConnection:
        """The first one of a stack also projects the embeddings to the width, if theirs is another."""
        before, after = self.settings.stream_start, self.settings.width
        if layer > 0 or before == after or not self.connection_kind.adds_input:
            return self.connection()
        width = self.connection_kind.norm_width(before, after)
        return ProjectedResidual(self.connection_kind(width, self.settings.dropout, self.norm), before, after)

    def layers(self, make: Callable[[int], nn.Module], count: int) -> list[nn.Module]:
        """The layers of a stack. Where they share their weights, one stands for all (Lan et al. 2020, section 3.1).

        The first one has its own if it reads embeddings of another width.
        """
        if not self.settings.layer_sharing:
            return [make(layer) for layer in range(count)]
        first, own = make(0), self.settings.stream_start != self.settings.width and count > 1
        return [first, *[make(1) if own else first] * (count - 1)]

    def encoder_layer(self, layer: int) -> EncoderLayer:
        attention, feedforward = self.self_attention(layer, causal=False), self.feedforward()
        return EncoderLayer(attention, feedforward, (self.self_attention_connection(layer), self.connection()))

    def decoder_layer(self, layer: int) -> DecoderLayer:
        attention, cross, feedforward = (
            self.self_attention(layer, True),
            self.attention(self.settings.width),
            self.feedforward(),
        )
        connections = (self.self_attention_connection(layer), self.connection(), self.connection())
        return DecoderLayer(attention, cross, feedforward, connections)

    def causal_layer(self, layer: int) -> CausalLayer:
        connections = (self.self_attention_connection(layer), self.connection())
        return CausalLayer(self.self_attention(layer, causal=True), self.feedforward(), connections)

    def final_norm(self) -> nn.Module:
        return self.connection_kind.final_norm(self.settings.width, self.norm)

    def narrow(self) -> nn.Module:
        """From the decoder to the output matrix, which is as wide as the embeddings."""
        s = self.settings
        return nn.Identity() if s.stream_start == s.width else nn.Linear(s.width, s.stream_start, bias=False)
