"""Chapter 8 of document 002: the matrices that it gives, the figures that it prints, and its steps. Data only."""

from typing import NamedTuple

from openwork.base.messages import msg
from openwork.study.steps import (
    EQUATION_2,
    EXACT,
    HEADS,
    MASK,
    SCORES,
    SINUSOIDS,
    SOFTMAX,
    WEIGHTED_SUM,
    Part,
    Quoted,
)

SOURCE_WORDS, SOURCE = ("我", "爱", "机器学习"), (1, 2, 3)
TARGET_WORDS, TARGET = ("I", "love", "machine", "learning"), (4, 5, 6, 7)
VOCABULARY = ("<pad>", *SOURCE_WORDS, *TARGET_WORDS, "<s>", "</s>")
SHIFTED_WORDS, SHIFTED = ("<s>", "I", "love", "machine"), (8, 4, 5, 6)

EMBEDDING = [
    [0.0, 0.0, 0.0, 0.0], [0.2, 0.5, 0.1, 0.3], [0.4, 0.1, 0.6, 0.2], [0.3, 0.7, 0.2, 0.5], [0.1, 0.3, 0.4, 0.2],
    [0.5, 0.2, 0.1, 0.6], [0.2, 0.6, 0.3, 0.1], [0.6, 0.1, 0.5, 0.3], [0.1, 0.1, 0.1, 0.1], [0.9, 0.9, 0.9, 0.9],
]  # fmt: skip
PROJECTION = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]
# The document multiplies from the right, x W; torch keeps the transposed matrix.
MATRICES = {
    "query": PROJECTION,
    "key": PROJECTION,
    "value": PROJECTION,
    "output": [[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.0], [0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.0, 0.5]],
    "expand": [[1.0, 0.0] * 4, [0.0, 1.0] * 4] * 2,
    "contract": [[0.5, 0.0] * 2, [0.0, 0.5] * 2] * 4,
}
# What the document adds: cut to two decimals, and the third column ten times too small.
POSITIONS = [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.001, 1.0], [0.91, -0.42, 0.002, 1.0], [0.14, -0.99, 0.003, 1.0]]

# The encoder's steps -> printed figures, and why those are wrong that do not follow from the figures before them.
ENCODER = {
    "source.input": Quoted("002, 8.1.3", [[0.2, 1.5, 0.1, 1.3], [1.24, 0.64, 0.601, 1.2], [1.21, 0.28, 0.202, 1.5]],
        0.001),
    "encoder.query": Quoted("002, 8.2.1",
        [[0.3, 2.8, 2.8, 0.3], [1.841, 1.84, 1.84, 1.841], [1.412, 1.78, 1.78, 1.412]], 0.001),
    "encoder.products": Quoted("002, 8.2.1",
        [[7.93, 5.7043, 5.4076], [5.7043, 6.7746, 5.874], [5.4076, 5.874, 5.162]], 0.001),
    "encoder.scores": Quoted("002, 8.2.1", [[5.61, 4.035, 3.825], [4.035, 4.791, 4.155], [3.825, 4.155, 3.65]], 0.001,
        slack=3.0),  # divided by 1.414, and passed on to three decimals
    "encoder.weights": Quoted("002, 8.2.1", [[0.728, 0.15, 0.122], [0.145, 0.51, 0.345], [0.13, 0.365, 0.505]], 0.001,
        "rows 2 and 3 are not the softmax of their scores: row 3 favours the lowest one"),
    "encoder.head1": Quoted("002, 8.2.1", [[0.666, 2.531], [1.52, 1.81], [1.38, 1.72]], 0.001,
        "rows 2 and 3 follow from no weights that are printed"),
    "encoder.head2": Quoted("002, 8.2.1", [[2.48, 0.65], [1.79, 1.53], [1.69, 1.39]], 0.01,
        "head 2 has the columns of head 1 in the other order, so its output is head 1's, swapped"),
    "encoder.joined": Quoted("002, 8.2.1",
        [[0.666, 2.531, 2.48, 0.65], [1.52, 1.81, 1.79, 1.53], [1.38, 1.72, 1.69, 1.39]], 0.001),
    "encoder.attention": Quoted("002, 8.2.1",
        [[0.658, 2.505, 2.505, 0.658], [1.525, 1.8, 1.8, 1.525], [1.385, 1.705, 1.705, 1.385]], 0.001),
    "encoder.sum1": Quoted("002, 8.2.1",
        [[0.858, 4.005, 2.605, 1.958], [2.765, 2.44, 2.401, 2.725], [2.595, 1.985, 1.907, 2.885]], 0.001),
    "encoder.norm1": Quoted("002, 8.2.1",
        [[-1.33, 1.46, 0.22, -0.35], [0.89, 0.27, 0.21, 0.85], [0.63, -0.16, -0.26, 1.05]], 0.01,
        "row 1 is off by one percent; rows 2 and 3 do not even have mean 0"),
    "encoder.expanded": Quoted("002, 8.2.2", [[-1.11, 1.11] * 4, [1.1, 1.12] * 4, [0.37, 0.89] * 4], 0.01),
    "encoder.activated": Quoted("002, 8.2.2", [[0.0, 1.11] * 4, [1.1, 1.12] * 4, [0.37, 0.89] * 4], 0.01),
    "encoder.feedforward": Quoted("002, 8.2.2", [[2.22] * 4, [4.44] * 4, [2.52] * 4], 0.01,
        "W_2 keeps even and odd columns apart; the document fills all four with one value"),
    "encoder.sum2": Quoted("002, 8.2.2",
        [[0.89, 3.68, 2.44, 1.87], [5.33, 4.71, 4.65, 5.29], [3.15, 2.36, 2.26, 3.57]], 0.01),
    "encoder.output": Quoted("002, 8.2.2",
        [[-1.25, 1.32, 0.35, -0.42], [1.05, 0.48, 0.42, 1.01], [0.28, -0.31, -0.41, 0.44]], 0.01,
        "row 2 does not have mean 0, and row 3 not variance 1"),
}  # fmt: skip
INHERITED = msg(
    "it follows from the document's own figures, but these are off since the positions: their third column is ten "
    "times too small"
)
ROUNDED = msg("calculated with rounded figures")

NEVER = float("-inf")
MASKED_SCORES = [[3.2, NEVER, NEVER, NEVER], [2.8, 4.1, NEVER, NEVER], [2.5, 3.9, 3.7, NEVER], [2.1, 3.5, 3.3, 4.5]]
CLAIMED = {4: 0.94, 5: 0.92, 6: 0.93, 7: 0.95}  # right token of each position -> its probability; others have 0.01
# The other steps; the document calls most of these examples, and none of them follows from its matrices.
EXAMPLE = msg("an example of the document's that does not follow from its matrices")
OTHERS = {
    "positions": Quoted("002, 8.1.3", POSITIONS, [0.01, 0.01, 0.001, 0.1],
        "0.0099998 was shortened to 0.001 and not to 0.010, and so on down the column"),
    "source.embedding": Quoted("002, 8.1.2", [EMBEDDING[token] for token in SOURCE]),
    "target.embedding": Quoted("002, 8.1.2", [EMBEDDING[token] for token in TARGET]),
    "target.input": Quoted("002, 8.1.3",
        [[0.1, 1.3, 0.4, 1.2], [1.34, 0.74, 0.101, 1.6], [1.11, 0.18, 0.302, 1.1], [0.74, -0.89, 0.503, 1.3]], 0.01,
        INHERITED),
    "decoder.scores": Quoted("002, 8.3.1", MASKED_SCORES, 0.1, EXAMPLE),
    "decoder.mask": Quoted("002, 8.3.1",
        [[0.0, NEVER, NEVER, NEVER], [0.0, 0.0, NEVER, NEVER], [0.0, 0.0, 0.0, NEVER], [0.0, 0.0, 0.0, 0.0]]),
    "decoder.weights": Quoted("002, 8.3.1",
        [[1.0, 0.0, 0.0, 0.0], [0.18, 0.82, 0.0, 0.0], [0.12, 0.35, 0.53, 0.0], [0.08, 0.22, 0.25, 0.45]], 0.01,
        "nor are they the softmax of the printed scores: they put 0.53 on 3.7 and 0.35 on 3.9"),
    "cross.weights": Quoted("002, 8.3.2",
        [[0.65, 0.25, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7], [0.08, 0.12, 0.8]], 0.01, EXAMPLE),
    "probabilities": Quoted("002, 8.3.3",
        [[share if token == right else 0.01 for token in range(10)] for right, share in CLAIMED.items()], 0.01,
        "the printed rows add up to 1.03, 1.01, 1.02 and 1.04"),
    "prediction": Quoted("002, 8.3.3", TARGET, EXACT, "the given matrices do not yield the target"),
    "bare.prediction": Quoted("002, 8.3.3", TARGET, EXACT,
        "nothing is negative here, so </s>, whose row has the largest entries, always wins"),
}  # fmt: skip
BOUND = Quoted("002, 8.3.3", list(CLAIMED.values()), 0.01,
               "three rows of W_e are constant, so their logits are 0 for any layer-normed vector")  # fmt: skip


class Pictured(NamedTuple):
    """How a step of the chapter is shown, and which step of a traced forward pass has its value.

    `head`: which one of the heads there; None where there are none, or where they are put side by side.
    """

    name: str
    title: str
    equation: str
    inputs: tuple[str, ...]
    part: Part
    traced: str = ""
    head: int | None = None


RESIDUAL = "Vaswani et al. 2017, section 3.1"
EMBED, ADD = Part("openwork.nn.embedding.TokenEmbedding"), Part("openwork.nn.positions.SinusoidalPositions", SINUSOIDS)
PROJECT, ATTEND = Part("torch.nn.Linear", HEADS), Part("openwork.nn.attention.MultiHeadAttention", HEADS)
CONNECTION, NORM = Part("openwork.nn.residual.PostNorm", RESIDUAL), Part("torch.nn.LayerNorm", RESIDUAL)
FEEDFORWARD, INNER = Part("openwork.nn.feedforward.FeedForward", EQUATION_2), ("position", "inner")
OVER, TIED = ("position", "vocabulary"), "Vaswani et al. 2017, section 3.4"
NORMALISE, BEST = "openwork.decoding.scoring.log_normaliser", "openwork.decoding.left_to_right.most_probable"
ENCODER_LAYER, DECODER_LAYER = "encoder.layers.0", "decoder.layers.0"
SELF, MASKED = f"{ENCODER_LAYER}.self_attention", f"{DECODER_LAYER}.self_attention"
CROSS = f"{DECODER_LAYER}.cross_attention"
STEPS = (
    Pictured("positions", "The sines and cosines of each position",
             "sin(pos / 10000^(2i / 4)), cos(pos / 10000^(2i / 4))", (),
             Part("openwork.nn.positions.exact_sinusoids", SINUSOIDS), "target.positions"),
    Pictured("source.embedding", "Each source token takes its row of the embedding matrix", "E = W_e[ids]", (), EMBED,
             "source.embedding"),
    Pictured("source.input", "The position's sines and cosines are added", "x = E + PE",
             ("source.embedding", "positions"), ADD, "source.sum"),
    Pictured("encoder.query", "Queries, keys and values: here one matrix makes all three", "Q = K = V = x W_q",
             ("source.input",), PROJECT, f"{SELF}.query"),
    Pictured("encoder.products", "Head 1: the product of each query and each key", "Q_1 K_1^T", ("encoder.query",),
             SCORES, f"{SELF}.products", 0),
    Pictured("encoder.scores", "The products are divided by the root of the head's width",
             "Q_1 K_1^T / sqrt(d_k), d_k = 2", ("encoder.products",), SCORES, f"{SELF}.scores", 0),
    Pictured("encoder.weights", "A softmax over the keys makes weights", "A_1 = softmax(Q_1 K_1^T / sqrt(d_k))",
             ("encoder.scores",), SOFTMAX, f"{SELF}.weights", 0),
    Pictured("encoder.head1", "Head 1: the values, summed by their weights", "A_1 V_1",
             ("encoder.weights", "encoder.query"), WEIGHTED_SUM, f"{SELF}.heads", 0),
    Pictured("encoder.head2", "Head 2, which has the columns of head 1 in the other order", "A_2 V_2",
             ("encoder.query",), WEIGHTED_SUM, f"{SELF}.heads", 1),
    Pictured("encoder.joined", "The heads side by side", "Concat(head_1, head_2)", ("encoder.head1", "encoder.head2"),
             ATTEND, f"{SELF}.heads"),
    Pictured("encoder.attention", "The output projection mixes the heads", "Concat(head_1, head_2) W_o",
             ("encoder.joined",), PROJECT, f"{SELF}.output"),
    Pictured("encoder.sum1", "The residual: what came in is added", "x + MultiHead(x)",
             ("source.input", "encoder.attention"), CONNECTION, f"{ENCODER_LAYER}.attention_wiring.residual"),
    Pictured("encoder.norm1", "Layer norm: each row gets mean 0 and variance 1", "(y - mean) / sqrt(variance + 1e-6)",
             ("encoder.sum1",), NORM, f"{ENCODER_LAYER}.attention_wiring.norm"),
    Pictured("encoder.expanded", "The first layer of the feed-forward network", "y W_1 + b_1", ("encoder.norm1",),
             Part("torch.nn.Linear", EQUATION_2, INNER), f"{ENCODER_LAYER}.feedforward.expand"),
    Pictured("encoder.activated", "What is negative becomes 0", "max(0, y W_1 + b_1)", ("encoder.expanded",),
             Part("torch.nn.ReLU", EQUATION_2, INNER), f"{ENCODER_LAYER}.feedforward.activation"),
    Pictured("encoder.feedforward", "The second layer of the feed-forward network", "max(0, y W_1 + b_1) W_2 + b_2",
             ("encoder.activated",), FEEDFORWARD, f"{ENCODER_LAYER}.feedforward.contract"),
    Pictured("encoder.sum2", "The second residual", "y + FFN(y)", ("encoder.norm1", "encoder.feedforward"), CONNECTION,
             f"{ENCODER_LAYER}.feedforward_wiring.residual"),
    Pictured("encoder.output", "The encoder's output, to which the decoder attends", "LayerNorm(y + FFN(y))",
             ("encoder.sum2",), NORM, f"{ENCODER_LAYER}.feedforward_wiring.norm"),
    Pictured("target.embedding", "Each token of the decoder's input takes its row of the embedding matrix",
             "E = W_e[ids]", (), EMBED, "target.embedding"),
    Pictured("target.input", "The position's sines and cosines are added to it", "x = E + PE",
             ("target.embedding", "positions"), ADD, "target.sum"),
    Pictured("decoder.query", "The decoder's queries, keys and values, by the encoder's matrix", "Q = K = V = x W_q",
             ("target.input",), PROJECT, f"{MASKED}.query"),
    Pictured("decoder.scores", "Head 1: scaled scores, before the mask", "Q_1 K_1^T / sqrt(d_k)", ("decoder.query",),
             SCORES, f"{MASKED}.scores", 0),
    Pictured("decoder.mask", "The mask: no position attends to a later one", "0 where key <= query, else -inf", (),
             MASK),
    Pictured("decoder.weights", "Head 1: weights over the positions so far", "softmax(Q_1 K_1^T / sqrt(d_k) + mask)",
             ("decoder.scores", "decoder.mask"), SOFTMAX, f"{MASKED}.weights", 0),
    Pictured("decoder.weights2", "Head 2 has the same weights", "softmax(Q_2 K_2^T / sqrt(d_k) + mask)",
             ("decoder.query", "decoder.mask"), SOFTMAX, f"{MASKED}.weights", 1),
    Pictured("decoder.attention", "What masked self-attention gives", "Concat(head_1, head_2) W_o",
             ("decoder.weights", "decoder.weights2"), ATTEND, f"{MASKED}.output"),
    Pictured("decoder.norm1", "After the residual and the norm", "LayerNorm(x + MultiHead(x))",
             ("target.input", "decoder.attention"), CONNECTION, f"{DECODER_LAYER}.self_wiring.norm"),
    Pictured("cross.scores", "Head 1 of the cross-attention: target positions attend to the memory",
             "Q_1 K_1^T / sqrt(d_k)", ("decoder.norm1", "encoder.output"), SCORES, f"{CROSS}.scores", 0),
    Pictured("cross.weights", "Head 1: weights over the source", "softmax(Q_1 K_1^T / sqrt(d_k))", ("cross.scores",),
             SOFTMAX, f"{CROSS}.weights", 0),
    Pictured("cross.weights2", "Head 2: weights over the source", "softmax(Q_2 K_2^T / sqrt(d_k))",
             ("decoder.norm1", "encoder.output"), SOFTMAX, f"{CROSS}.weights", 1),
    Pictured("cross.attention", "What cross-attention gives", "Concat(head_1, head_2) W_o",
             ("cross.weights", "cross.weights2", "encoder.output"), ATTEND, f"{CROSS}.output"),
    Pictured("decoder.norm2", "After its residual and norm", "LayerNorm(x + MultiHead(x, memory))",
             ("decoder.norm1", "cross.attention"), CONNECTION, f"{DECODER_LAYER}.cross_wiring.norm"),
    Pictured("decoder.feedforward", "The decoder's feed-forward network", "max(0, y W_1 + b_1) W_2 + b_2",
             ("decoder.norm2",), FEEDFORWARD, f"{DECODER_LAYER}.feedforward.contract"),
    Pictured("decoder.output", "After the last residual and norm", "LayerNorm(y + FFN(y))",
             ("decoder.norm2", "decoder.feedforward"), CONNECTION, f"{DECODER_LAYER}.feedforward_wiring.norm"),
    Pictured("logits", "A logit for each entry of the vocabulary, by the embedding matrix", "y W_e^T",
             ("decoder.output",), Part("openwork.models.interfaces.SequenceModel.project", TIED, OVER)),
    Pictured("probabilities", "A softmax over the vocabulary", "softmax(y W_e^T)", ("logits",),
             Part(NORMALISE, TIED, OVER)),
    Pictured("prediction", "The most probable entry at each position", "argmax", ("probabilities",),
             Part(BEST, axes=("position",))),
    Pictured("bare.probabilities", "The same from the feed-forward network alone, as the document's text reads",
             "softmax(FFN(y) W_e^T)", ("decoder.feedforward",), Part(NORMALISE, axes=OVER)),
    Pictured("bare.prediction", "The most probable entry then", "argmax", ("bare.probabilities",),
             Part(BEST, axes=("position",))),
)  # fmt: skip
