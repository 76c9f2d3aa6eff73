"""The calculations of a Transformer: titles, equations, and where the papers define them.

The equations of parts that exist in several kinds depend on the module.
"""

from typing import Any

from torch import nn

from openwork.inspection.recorder import StepKind
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.distances import BucketedBiases, LinearBiases, RelativeKeys
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.features import FeatureEmbedding
from openwork.nn.feedforward import FeedForward, GatedFeedForward
from openwork.nn.kernels import reference
from openwork.nn.normalisation import BatchNorm
from openwork.nn.residual import ResidualSum

PAPER = "Vaswani et al. 2017, "
EQUATION_1, EQUATION_2 = f"{PAPER}equation 1", f"{PAPER}equation 2"
VIT_EQUATION = "Dosovitskiy et al. 2021, equation 1"
MULTI_HEAD = f"{PAPER}section 3.2.2"

STREAM = ("position", "width")
SCORES = ("head", "query", "key")
INNER = ("position", "inner")

IDS = StepKind("The pieces of the text, as numbers", "id", ("position",), None)
NUMBERS = StepKind("The numbers of each patch, as the model reads them", "", ("patch", "features"), None)
PATCHES = StepKind("One vector for each patch", "x E + b", ("patch", "width"), nn.Linear, VIT_EQUATION)
WITH_CLASS = StepKind(
    "The class token's learned vector, and after it those of the patches", "[class; x E + b]", STREAM,
    FeatureEmbedding.forward, VIT_EQUATION,
)  # fmt: skip
READ = StepKind("The vector that the label is predicted from", "", ("width",), SequenceModel.advance)
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
    """The input of the stream."""
    return StepKind(
        "The same, multiplied by the root of their width" if scaled else "The same, as they are",
        "E[id] sqrt(d_model)" if scaled else "E[id]",
        STREAM, TokenEmbedding.forward, f"{PAPER}section 3.4",
    )  # fmt: skip


def logits(bias: bool) -> StepKind:
    """The input of the probabilities."""
    return StepKind(
        "Logits: one number for each piece of the vocabulary", _linear("^T", False) + (" + b" if bias else ""),
        ("position", "vocabulary"), SequenceModel.project, f"{PAPER}section 3.4",
    )  # fmt: skip


def label_logits(bias: bool) -> StepKind:
    """The same for the one label of a source."""
    return StepKind(
        "Logits: one number for each symbol and label", _linear("^T", False) + (" + b" if bias else ""),
        ("vocabulary",), SequenceModel.project,
    )  # fmt: skip


def position_vectors(positions: nn.Module) -> StepKind:
    """The vectors that are added to the embeddings."""
    equation, source = "P[pos]", "Gehring et al. 2017"
    if not any(True for _ in positions.parameters()):
        equation = "sin(pos / 10000^(2i / d_model)), cos(pos / 10000^(2i / d_model))"
        source = f"{PAPER}section 3.5"
    return StepKind("A vector for each position", equation, STREAM, type(positions).rows, source)  # type: ignore[attr-defined]


def position_sum(positions: nn.Module) -> StepKind:
    """Embeddings and positions together."""
    code = type(positions).forward
    return StepKind("Embedding and position added up", "x + P[pos]", STREAM, code, f"{PAPER}section 3.5")


def _linear(matrix: str, bias: bool, of: str = "x") -> str:
    return f"{of} W{matrix} + b{matrix}" if bias else f"{of} W{matrix}"


def attention_steps(attention: MultiHeadAttention) -> dict[str, StepKind]:
    """The projections, cut into heads, and the output of the sub-layer."""
    matrices = {"query": "^Q", "key": "^K", "value": "^V"}
    heads = {
        part: f"heads({_linear(matrix, getattr(attention, part).bias is not None)})"
        for part, matrix in matrices.items()
    }
    return {
        "query": StepKind(
            "The queries of each head: what each position asks for", heads["query"],
            ("head", "query", "head_width"), MultiHeadAttention.queries, MULTI_HEAD, inner=True,
        ),
        "key": StepKind(
            "The keys of each head: what each position can be found by", heads["key"],
            ("head", "key", "head_width"), MultiHeadAttention.keys_values, MULTI_HEAD, inner=True,
        ),
        "value": StepKind(
            "The values of each head: what each position gives when it is found", heads["value"],
            ("head", "key", "value_width"), MultiHeadAttention.keys_values, MULTI_HEAD, inner=True,
        ),
        "output": StepKind(
            "The heads side by side, turned into one vector for each position",
            _linear("^O", attention.output.bias is not None, "Concat(head_1, ..., head_h)"),
            STREAM, MultiHeadAttention.forward, MULTI_HEAD, inner=True,
        ),
    }  # fmt: skip


def turned(attention: MultiHeadAttention, axis: str) -> StepKind:
    """Queries or keys after rotary positions."""
    return StepKind(
        "The same, turned by angles that grow with the position",
        f"R(pos) {'q' if axis == 'query' else 'k'}",
        ("head", axis, "head_width"), type(attention.distances).rotate, "Su et al. 2021, equation 34", inner=True,
    )  # fmt: skip


def distance_bias(attention: MultiHeadAttention) -> StepKind:
    """The bias that distances add to the scores."""
    equation, source = _DISTANCES[type(attention.distances)]
    code = type(attention.distances).bias
    return StepKind("What the distance between query and key adds to the score", equation, SCORES, code, source, True)


def scores(biased: bool) -> StepKind:
    """The input of the softmax."""
    return StepKind(
        "The same divided by the root of the heads' width, so that wide heads do not make it large",
        "Q K^T / sqrt(d_k) + bias" if biased else "Q K^T / sqrt(d_k)",
        SCORES, reference.attention_scores, EQUATION_1, inner=True,
    )  # fmt: skip


def network_steps(network: FeedForward | GatedFeedForward) -> dict[str, StepKind]:
    """The products of a feed-forward network, its activation, and its gate if it has one."""
    activation, code = type(network.activation), type(network).forward
    first, last, source = "x W_1 + b_1", "z W_2 + b_2", EQUATION_2
    if isinstance(network, GatedFeedForward):
        first, last, source = "x V", "z W_2", "Shazeer 2020, equations 5 and 6"
    return {
        "expand": StepKind("Each position's vector, made wider", first, INNER, code, source, inner=True),
        "activation": StepKind(
            "The activation of each number, which makes the network more than one product",
            _ACTIVATIONS.get(activation, activation.__name__), INNER, code, source, inner=True,
        ),
        "gate": StepKind("The gate: how much of each number may pass", "x W", INNER, code, source, inner=True),
        "contract": StepKind("Each position's vector, as wide as before", last, STREAM, code, source, inner=True),
    }  # fmt: skip


def residual(inner: bool) -> StepKind:
    """`inner`: a norm follows, which belongs to the sub-layer."""
    return StepKind(
        "The sub-layer's output, added to what went into it", "x + Sublayer(x)", STREAM, ResidualSum.forward,
        f"{PAPER}section 3.1", inner=inner,
    )  # fmt: skip


def norm(module: nn.Module, inner: bool) -> StepKind:
    """`inner`: the norm is before a sub-layer."""
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
    return StepKind("The stream, turned to another width", "x W", STREAM, nn.Linear)
