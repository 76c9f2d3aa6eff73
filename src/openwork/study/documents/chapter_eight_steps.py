"""How the steps of chapter 8 of document 002 are shown: titles, equations, and the code that makes them. Data only."""

from dataclasses import dataclass

SQUARE = ("query", "key")


@dataclass(frozen=True)
class Pictured:
    """How a step of the chain is shown."""

    name: str
    title: str
    equation: str
    inputs: tuple[str, ...]
    code: str
    source: str = ""
    axes: tuple[str, ...] = ("position", "width")


ATTENTION = "Vaswani et al. 2017, equation 1"
HEADS = "Vaswani et al. 2017, section 3.2.2"
RESIDUAL = "Vaswani et al. 2017, section 3.1"
FEEDFORWARD = "Vaswani et al. 2017, equation 2"
SCORES, SOFTMAX, SUM = (
    f"openwork.nn.kernels.reference.{name}" for name in ("attention_scores", "softmax_over", "weighted_sum")
)
LINEAR, NORM, EMBED = "torch.nn.Linear", "torch.nn.LayerNorm", "openwork.nn.embedding.TokenEmbedding"
POSITIONS, WIRING = "openwork.nn.positions.SinusoidalPositions", "openwork.nn.residual.PostNorm"
ATTEND, NETWORK = "openwork.nn.attention.MultiHeadAttention", "openwork.nn.feedforward.FeedForward"
HEAD, INNER = ("position", "value_width"), ("position", "inner")

ENCODER = (
    Pictured("positions", "The sines and cosines of each position",
        "sin(pos / 10000^(2i / 4)), cos(pos / 10000^(2i / 4))", (), "openwork.nn.positions.exact_sinusoids",
        "Vaswani et al. 2017, section 3.5"),
    Pictured("source.embedding", "Each source token takes its row of the embedding matrix", "E = W_e[ids]", (), EMBED),
    Pictured("source.input", "The position's sines and cosines are added", "x = E + PE",
        ("source.embedding", "positions"), POSITIONS, "Vaswani et al. 2017, section 3.5"),
    Pictured("encoder.query", "Queries, keys and values: here one matrix makes all three", "Q = K = V = x W_q",
        ("source.input",), LINEAR, HEADS),
    Pictured("encoder.products", "Head 1: each query meets each key", "Q_1 K_1^T", ("encoder.query",), SCORES,
        ATTENTION, SQUARE),
    Pictured("encoder.scores", "The products are divided by the root of the head's width",
        "Q_1 K_1^T / sqrt(d_k), d_k = 2", ("encoder.products",), SCORES, ATTENTION, SQUARE),
    Pictured("encoder.weights", "A softmax over the keys makes weights", "A_1 = softmax(Q_1 K_1^T / sqrt(d_k))",
        ("encoder.scores",), SOFTMAX, ATTENTION, SQUARE),
    Pictured("encoder.head1", "Head 1: the values, summed by their weights", "A_1 V_1",
        ("encoder.weights", "encoder.query"), SUM, ATTENTION, HEAD),
    Pictured("encoder.head2", "Head 2, which has the columns of head 1 in the other order", "A_2 V_2",
        ("encoder.query",), SUM, ATTENTION, HEAD),
    Pictured("encoder.joined", "The heads side by side", "Concat(head_1, head_2)", ("encoder.head1", "encoder.head2"),
        ATTEND, HEADS),
    Pictured("encoder.attention", "The output projection mixes the heads", "Concat(head_1, head_2) W_o",
        ("encoder.joined",), LINEAR, HEADS),
    Pictured("encoder.sum1", "The residual: what came in is added", "x + MultiHead(x)",
        ("source.input", "encoder.attention"), WIRING, RESIDUAL),
    Pictured("encoder.norm1", "Layer norm: each row gets mean 0 and variance 1", "(y - mean) / sqrt(variance + 1e-6)",
        ("encoder.sum1",), NORM, RESIDUAL),
    Pictured("encoder.expanded", "The first layer of the feed-forward network", "y W_1 + b_1", ("encoder.norm1",),
        LINEAR, FEEDFORWARD, INNER),
    Pictured("encoder.activated", "What is negative becomes 0", "max(0, y W_1 + b_1)", ("encoder.expanded",),
        "torch.nn.ReLU", FEEDFORWARD, INNER),
    Pictured("encoder.feedforward", "The second layer of the feed-forward network", "max(0, y W_1 + b_1) W_2 + b_2",
        ("encoder.activated",), NETWORK, FEEDFORWARD),
    Pictured("encoder.sum2", "The second residual", "y + FFN(y)", ("encoder.norm1", "encoder.feedforward"), WIRING,
        RESIDUAL),
    Pictured("encoder.output", "The encoder's output, which the decoder will ask", "LayerNorm(y + FFN(y))",
        ("encoder.sum2",), NORM, RESIDUAL),
)  # fmt: skip
CROSS = ("query", "key")
DECODER = (
    Pictured("target.embedding", "Each token of the decoder's input takes its row of the embedding matrix",
        "E = W_e[ids]", (), EMBED),
    Pictured("target.input", "The position's sines and cosines are added to it", "x = E + PE",
        ("target.embedding", "positions"), POSITIONS, "Vaswani et al. 2017, section 3.5"),
    Pictured("decoder.query", "The decoder's queries, keys and values, by the encoder's matrix", "Q = K = V = x W_q",
        ("target.input",), LINEAR, HEADS),
    Pictured("decoder.scores", "Head 1: scaled scores, before the mask", "Q_1 K_1^T / sqrt(d_k)", ("decoder.query",),
        SCORES, ATTENTION, SQUARE),
    Pictured("decoder.mask", "The mask: no position looks at a later one", "0 where key <= query, else -inf", (),
        "openwork.nn.masks.causal", "Vaswani et al. 2017, section 3.2.3", SQUARE),
    Pictured("decoder.weights", "Head 1: weights over the positions so far", "softmax(Q_1 K_1^T / sqrt(d_k) + mask)",
        ("decoder.scores", "decoder.mask"), SOFTMAX, ATTENTION, SQUARE),
    Pictured("decoder.weights2", "Head 2 has the same weights", "softmax(Q_2 K_2^T / sqrt(d_k) + mask)",
        ("decoder.query", "decoder.mask"), SOFTMAX, ATTENTION, SQUARE),
    Pictured("decoder.attention", "What masked self-attention gives", "Concat(head_1, head_2) W_o",
        ("decoder.weights", "decoder.weights2"), ATTEND, HEADS),
    Pictured("decoder.norm1", "After the residual and the norm", "LayerNorm(x + MultiHead(x))",
        ("target.input", "decoder.attention"), WIRING, RESIDUAL),
    Pictured("cross.scores", "Head 1 of the cross-attention: target positions ask the memory", "Q_1 K_1^T / sqrt(d_k)",
        ("decoder.norm1", "encoder.output"), SCORES, ATTENTION, CROSS),
    Pictured("cross.weights", "Head 1: weights over the source", "softmax(Q_1 K_1^T / sqrt(d_k))", ("cross.scores",),
        SOFTMAX, ATTENTION, CROSS),
    Pictured("cross.weights2", "Head 2: weights over the source", "softmax(Q_2 K_2^T / sqrt(d_k))",
        ("decoder.norm1", "encoder.output"), SOFTMAX, ATTENTION, CROSS),
    Pictured("cross.attention", "What cross-attention gives", "Concat(head_1, head_2) W_o",
        ("cross.weights", "cross.weights2", "encoder.output"), ATTEND, HEADS),
    Pictured("decoder.norm2", "After its residual and norm", "LayerNorm(x + MultiHead(x, memory))",
        ("decoder.norm1", "cross.attention"), WIRING, RESIDUAL),
    Pictured("decoder.feedforward", "The decoder's feed-forward network", "max(0, y W_1 + b_1) W_2 + b_2",
        ("decoder.norm2",), NETWORK, FEEDFORWARD),
    Pictured("decoder.output", "After the last residual and norm", "LayerNorm(y + FFN(y))",
        ("decoder.norm2", "decoder.feedforward"), WIRING, RESIDUAL),
)  # fmt: skip
PROJECT, NORMALISE = "openwork.models.interfaces.SequenceModel.project", "openwork.decoding.scoring.log_normaliser"
BEST = "openwork.decoding.greedy.most_probable"
OVER = ("position", "vocabulary")
OUTPUT = (
    Pictured("logits", "A logit for each entry of the vocabulary, by the embedding matrix", "y W_e^T",
        ("decoder.output",), PROJECT, "Vaswani et al. 2017, section 3.4", OVER),
    Pictured("probabilities", "A softmax over the vocabulary", "softmax(y W_e^T)", ("logits",), NORMALISE,
        "Vaswani et al. 2017, section 3.4", OVER),
    Pictured("prediction", "The most probable entry at each position", "argmax", ("probabilities",), BEST, "",
        ("position",)),
    Pictured("bare.probabilities", "The same from the feed-forward network alone, as the document's text reads",
        "softmax(FFN(y) W_e^T)", ("decoder.feedforward",), NORMALISE, "", OVER),
    Pictured("bare.prediction", "The most probable entry then", "argmax", ("bare.probabilities",), BEST, "",
        ("position",)),
)  # fmt: skip
