"""The parts of a Transformer's layers, as settings name them. Choices are tables, values their lines."""

from collections.abc import Callable
from functools import partial

from torch import nn

from openwork.models.layer_settings import BUCKETS, FURTHEST, RELATIVE_DISTANCE, LayerSettings
from openwork.nn.attention import (
    AdditiveScores,
    Heads,
    MultiHeadAttention,
    PlainProducts,
    RectifiedProducts,
    ScaledProducts,
)
from openwork.nn.distances import BucketedBiases, Distances, LinearBiases, NoDistances, RelativeKeys, Rotary
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import ConvolutionalFeedForward, FeedForward, GatedFeedForward
from openwork.nn.kernels import Kernel, chunked
from openwork.nn.layers import CausalLayer, DecoderLayer, EncoderLayer
from openwork.nn.normalisation import BatchNorm, Norm, RMSNorm, layer_norm
from openwork.nn.patterns import BigBird, Pattern, Window
from openwork.nn.positions import (
    LONGEST_WAVE,
    LearnedPositions,
    NoPositions,
    NormalisedPositions,
    Positions,
    SinusoidalPositions,
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
    "window": lambda s, _: Window(s.window_side, global_tokens=s.global_count),
    "blocks": lambda s, layer: BigBird(
        s.block_size, -(-s.window_side // s.block_size), s.global_count, s.random_count, seed=layer
    ),
}


class Parts:
    """Makes the parts of one Transformer, each call a new one."""

    def __init__(self, settings: LayerSettings, kernel: Kernel) -> None:
        self.settings = settings
        chunk = settings.attention_chunk
        self.kernel = kernel if chunk is None else partial(chunked.attention, size=chunk)
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
        width = self.settings.stream_start if layer == 0 else self.settings.width
        make = PATTERNS.get(self.settings.attention_pattern)
        return self.attention(width, self.distances(causal), make(self.settings, layer) if make else None)

    def attention(
        self, width: int, distances: Distances | None = None, pattern: Pattern | None = None
    ) -> MultiHeadAttention:
        s = self.settings
        attention = MultiHeadAttention(
            width, Heads(s.heads, s.key_width, s.value_head_width, s.key_value_heads), output_width=s.width,
            bias=s.attention_bias, weight_dropout=s.attention_dropout, kernel=self.kernel, distances=distances,
            pattern=pattern,
        )  # fmt: skip
        attention.use_score_function(SCORE_FUNCTIONS[s.attention](s))
        return attention

    def feedforward(self) -> nn.Module:
        s = self.settings
        return FEEDFORWARDS[s.feedforward](s.width, s.feedforward_width, s.feedforward_dropout)

    def connection(self) -> NormConnection:
        return self.connection_kind(self.settings.width, self.settings.dropout, self.norm)

    def self_attention_connection(self, layer: int) -> SublayerConnection:
        """The first one of a stack also projects the embeddings to the width, if theirs is another."""
        before, after = self.settings.stream_start, self.settings.width
        if layer > 0 or before == after or not self.connection_kind.adds_input:
            return self.connection()
        width = self.connection_kind.norm_width(before, after)
        return ProjectedResidual(self.connection_kind(width, self.settings.dropout, self.norm), before, after)

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
