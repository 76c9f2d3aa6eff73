"""What each calculation of a Transformer is: its words, its equation, its place in the papers.

The equations of parts that exist in several kinds depend on the module.
"""

from typing import Any

import torch
from torch import nn

from openwork.inspection.recorder import StepKind
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.distances import BucketedBiases, LinearBiases, RelativeKeys
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import FeedForward, GatedFeedForward
from openwork.nn.kernels import reference
from openwork.nn.normalisation import BatchNorm
from openwork.nn.residual import ResidualSum

PAPER = "Vaswani et al. 2017, "
EQUATION_1, EQUATION_2 = f"{PAPER}equation 1", f"{PAPER}equation 2"
MULTI_HEAD = f"{PAPER}section 3.2.2"

STREAM = ("position", "width")
SCORES = ("head", "query", "key")
INNER = ("position", "inner")

IDS = StepKind("The pieces of the text, as numbers", "id", ("position",), None)
LOOKUP = StepKind(
    "One vector for each piece, from the table of embeddings", "E[id]", STREAM, nn.Embedding, f"{PAPER}section 3.4"
)
PRODUCTS = StepKind(
    "How alike each query is to each key", "Q K^T", SCORES, reference.attention_scores, EQUATION_1, inner=True
)
MASKED = StepKind(
    "Keys that may not be seen are hidden by minus infinity", "scores, or -inf", SCORES, reference.masked_scores,
    f"{PAPER}section 3.2.3", inner=True,
)  # fmt: skip
WEIGHTS = StepKind(
    "Attention weights: how much each query takes from each key; a row adds up to 1",
    "softmax(scores) over the keys", SCORES, reference.softmax_over, EQUATION_1,
)  # fmt: skip
HEADS = StepKind(
    "The values, added up by their weights", "weights V", ("head", "query", "value_width"), reference.weighted_sum,
    EQUATION_1, inner=True,
)  # fmt: skip
GATED = StepKind(
    "The gate times what it lets through", "activation(x W) * x V", INNER, GatedFeedForward.forward,
    "Shazeer 2020, equations 5 and 6", inner=True,
)  # fmt: skip

_ACTIVATIONS: dict[type[nn.Module], str] = {
    nn.ReLU: "max(0, z)",
    nn.GELU: "z P(X <= z), X normal",
    nn.SiLU: "z sigmoid(z)",
    nn.Sigmoid: "sigmoid(z)",
}


_DISTANCES: dict[type[Any], tuple[str, str]] = {
    LinearBiases: ("-slope |distance|", "Press et al. 2022"),
    RelativeKeys: ("q a^T / sqrt(d_k)", "Shaw et al. 2018, equation 4"),
    BucketedBiases: ("b[bucket(distance)]", "Raffel et al. 2020"),
}


def embedding(scaled: bool) -> StepKind:
    """What the stream begins with."""
    return StepKind(
        "The same, multiplied by the root of their width" if scaled else "The same, as they are",
        "E[id] sqrt(d_model)" if scaled else "E[id]",
        STREAM, TokenEmbedding.forward, f"{PAPER}section 3.4",
    )  # fmt: skip


def logits(bias: bool) -> StepKind:
    """What the probabilities are made of."""
    return StepKind(
        "Logits: one number for each piece of the vocabulary", _linear("^T", False) + (" + b" if bias else ""),
        ("position", "vocabulary"), SequenceModel.project, f"{PAPER}section 3.4",
    )  # fmt: skip


def position_vectors(positions: nn.Module) -> StepKind:
    """The vectors that are added to the embeddings."""
    learnt = any(True for _ in positions.parameters())
    if learnt:
        equation, source = "P[pos]", "Gehring et al. 2017"
    else:
        equation = "sin(pos / 10000^(2i / d_model)), cos(pos / 10000^(2i / d_model))"
        source = f"{PAPER}section 3.5"
    return StepKind("A vector for each position", equation, STREAM, type(positions).rows, source)  # type: ignore[attr-defined]


def position_sum(positions: nn.Module) -> StepKind:
    """Embeddings and positions together."""
    return StepKind(
        "Embedding and position added up", "x + P[pos]", STREAM, type(positions).forward,
        f"{PAPER}section 3.5",
    )  # fmt: skip


def _linear(matrix: str, bias: bool, of: str = "x") -> str:
    return f"{of} W{matrix} + b{matrix}" if bias else f"{of} W{matrix}"


def query(attention: MultiHeadAttention) -> StepKind:
    """The projection, cut into heads."""
    return StepKind(
        "The queries of each head: what each position asks for",
        f"heads({_linear('^Q', attention.query.bias is not None)})",
        ("head", "query", "head_width"), MultiHeadAttention.queries, MULTI_HEAD, inner=True,
    )  # fmt: skip


def key(attention: MultiHeadAttention) -> StepKind:
    """The projection, cut into heads."""
    return StepKind(
        "The keys of each head: what each position can be found by",
        f"heads({_linear('^K', attention.key.bias is not None)})",
        ("head", "key", "head_width"), MultiHeadAttention.keys_values, MULTI_HEAD, inner=True,
    )  # fmt: skip


def value(attention: MultiHeadAttention) -> StepKind:
    """The projection, cut into heads."""
    return StepKind(
        "The values of each head: what each position gives when it is found",
        f"heads({_linear('^V', attention.value.bias is not None)})",
        ("head", "key", "value_width"), MultiHeadAttention.keys_values, MULTI_HEAD, inner=True,
    )  # fmt: skip


def turned(attention: MultiHeadAttention, axis: str) -> StepKind:
    """Queries or keys after rotary positions."""
    return StepKind(
        "The same, turned by angles that grow with the position",
        f"R(pos) {'q' if axis == 'query' else 'k'}",
        ("head", axis, "head_width"), type(attention.distances).rotate, "Su et al. 2021, equation 34", inner=True,
    )  # fmt: skip


def distance_bias(attention: MultiHeadAttention) -> StepKind:
    """What distances add to the scores."""
    part = type(attention.distances)
    equation, source = _DISTANCES[part]
    return StepKind(
        "What the distance between query and key adds to the score", equation, SCORES, part.bias, source, True
    )


def scores(biased: bool) -> StepKind:
    """What the softmax is taken of."""
    return StepKind(
        "The same divided by the root of the heads' width, so that wide heads do not make it large",
        "Q K^T / sqrt(d_k) + bias" if biased else "Q K^T / sqrt(d_k)",
        SCORES, reference.attention_scores, EQUATION_1, inner=True,
    )  # fmt: skip


def attention_output(attention: MultiHeadAttention) -> StepKind:
    """The sub-layer's output."""
    bias = attention.output.bias is not None
    return StepKind(
        "The heads side by side, turned into one vector for each position",
        _linear("^O", bias, "Concat(head_1, ..., head_h)"),
        STREAM, MultiHeadAttention.forward, MULTI_HEAD, inner=True,
    )  # fmt: skip


def expansion(network: FeedForward | GatedFeedForward) -> StepKind:
    """The first product of the feed-forward network, or what its gate lets through."""
    gated = isinstance(network, GatedFeedForward)
    return StepKind(
        "Each position's vector, made wider", "x V" if gated else "x W_1 + b_1", INNER, type(network).forward,
        _network_source(network), inner=True,
    )  # fmt: skip


def gate(network: GatedFeedForward) -> StepKind:
    """What decides how much passes."""
    return StepKind(
        "The gate: how much of each number may pass", "x W", INNER, type(network).forward,
        _network_source(network), inner=True,
    )  # fmt: skip


def activation(network: FeedForward | GatedFeedForward) -> StepKind:
    """The bend between the two products."""
    made = type(network.activation)
    return StepKind(
        "The activation of each number, which makes the network more than one product",
        _ACTIVATIONS.get(made, made.__name__), INNER, type(network).forward, _network_source(network), inner=True,
    )  # fmt: skip


def contraction(network: FeedForward | GatedFeedForward) -> StepKind:
    """The sub-layer's output."""
    gated = isinstance(network, GatedFeedForward)
    return StepKind(
        "Each position's vector, as wide as before", "z W_2" if gated else "z W_2 + b_2", STREAM,
        type(network).forward, _network_source(network), inner=True,
    )  # fmt: skip


def _network_source(network: nn.Module) -> str:
    return EQUATION_2 if isinstance(network, FeedForward) else "Shazeer 2020, equations 5 and 6"


def residual(inner: bool) -> StepKind:
    """`inner`: a norm follows, which belongs to the sub-layer."""
    return StepKind(
        "The sub-layer's output, added to what went into it", "x + Sublayer(x)", STREAM, ResidualSum.forward,
        f"{PAPER}section 3.1", inner=inner,
    )  # fmt: skip


def norm(module: nn.Module, inner: bool) -> StepKind:
    """`inner`: the norm stands before a sub-layer."""
    if isinstance(module, nn.LayerNorm):
        equation = f"(x - mean) / sqrt(variance + {module.eps:g}) * gain + shift"
        source = "Ba, Kiros and Hinton 2016"
    elif isinstance(module, BatchNorm):
        equation = f"(x - running mean) / sqrt(running variance + {module.epsilon:g}) * gain + shift"
        source = "Ioffe and Szegedy 2015, algorithm 2"
    else:
        equation, source = "x / sqrt(mean of squares + epsilon) * gain", "Zhang and Sennrich 2019"
    return StepKind("Each vector brought to the same size", equation, STREAM, type(module).forward, source, inner=inner)


def projection() -> StepKind:
    """Where the stream's width changes."""
    return StepKind("The stream, turned to another width", "x W", STREAM, torch.nn.Linear)
