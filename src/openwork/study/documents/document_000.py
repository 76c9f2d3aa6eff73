"""The numeric examples of document 000: self-attention, positions, and the shapes of two layers."""

import torch
from torch import Tensor, nn

from openwork.inspection.trace import Step, Trace
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels.reference import attention_scores, softmax_over, weighted_sum
from openwork.nn.positions import SinusoidalPositions, exact_sinusoids
from openwork.study.documents import EXAMPLES
from openwork.study.documents.verdicts import array, assumed, judged, slip

X = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
PRINTED_WEIGHTS = [[0.4223, 0.1554, 0.4223], [0.2119, 0.394, 0.394], [0.2119, 0.2119, 0.5762]]
PRINTED_OUTPUT = [[0.8446, 0.5777], [0.788, 0.788], [0.788, 0.9999]]
WORD = (0.5, 0.3, 0.8, 0.1)
EQUATION = "Vaswani et al. 2017, equation 1"
SQUARE = ("query", "key")


def identity_attention() -> MultiHeadAttention:
    """One head of width 2 whose projections change nothing."""
    attention = MultiHeadAttention(2, Heads(1, 2, 2)).double()
    with torch.no_grad():
        for projection in (attention.query, attention.key, attention.value, attention.output):
            nn.init.eye_(projection.weight)
    return attention


def attend(scale: float, rows: tuple[tuple[float, ...], ...] = X) -> dict[str, Tensor]:
    """Scores, weights and output of self-attention over the rows."""
    attention = identity_attention()
    with torch.no_grad():
        x = torch.tensor([rows], dtype=torch.float64)
        asked = attention.keys_values(x)
        query = attention.queries(x)
        scores = attention_scores(query, asked.key, scale)
        weights = softmax_over(scores, None)
        output = attention.output(attention.join(weighted_sum(weights, asked.value)))
    return {"query": query[0, 0], "scores": scores[0, 0], "weights": weights[0, 0], "output": output[0]}


def self_attention() -> Trace:
    """Section 1.1.7, which leaves the scale out; the last steps are with it."""
    made = {name: array(value) for name, value in attend(1.0).items()}
    scaled = {name: array(value) for name, value in attend(identity_attention().scale).items()}
    weights = judged("000, 1.1.7", made["weights"], PRINTED_WEIGHTS, 0.0001,
                     "row 2 takes its first entry from row 3; it is row 1 in another order")  # fmt: skip
    output = judged("000, 1.1.7", made["output"], PRINTED_OUTPUT, 0.0001,
                    "row 2 follows from no printed weights, and both entries of row 3 must be equal")  # fmt: skip
    return Trace(
        "000-1.1.7",
        EXAMPLES["000-1.1.7"].title,
        (
            Step("query", "Queries, keys and values: the words themselves", "Q = K = V = X W, W = I", made["query"],
                 ("position", "width"), (), "openwork.nn.attention.MultiHeadAttention.queries", EQUATION, {},
                 (judged("000, 1.1.7", made["query"], X),)),
            Step("scores", "Each query meets each key", "Q K^T", made["scores"], SQUARE, ("query",),
                 "openwork.nn.kernels.reference.attention_scores", EQUATION, {},
                 (judged("000, 1.1.7", made["scores"], [[1, 0, 1], [0, 1, 1], [1, 1, 2]]),)),
            Step("weights", "A softmax over the keys makes weights", "A = softmax(Q K^T)", made["weights"], SQUARE,
                 ("scores",), "openwork.nn.kernels.reference.softmax_over", EQUATION, {}, (weights,)),
            Step("output", "The values, summed by their weights", "Z = A V", made["output"], ("position", "width"),
                 ("weights", "query"), "openwork.nn.kernels.reference.weighted_sum", EQUATION, {}, (output,)),
            Step("scaled.weights", "The weights with the paper's scale", "softmax(Q K^T / sqrt(2))", scaled["weights"],
                 SQUARE, ("query",), "openwork.nn.kernels.reference.softmax_over", EQUATION),
            Step("scaled.output", "The output with the paper's scale", "softmax(Q K^T / sqrt(2)) V", scaled["output"],
                 ("position", "width"), ("scaled.weights", "query"), "openwork.nn.kernels.reference.weighted_sum",
                 EQUATION),
        ),
        assumed("The document leaves out the division by sqrt(d_k); the last two steps have it."),
    )  # fmt: skip


def positions() -> Trace:
    """Section 1.3: sines and cosines for a width of 8, and a word with its position."""
    table = array(exact_sinusoids(4, 8))
    adds = SinusoidalPositions(4)
    adds.table = exact_sinusoids(1, 4)
    total = array(adds(torch.tensor([[WORD]], dtype=torch.float64))[0, 0])
    third = slip("the divisor of the second pair is 10000^(2/8) = 10, so these are sin(0.1) and cos(0.1)")
    return Trace(
        "000-1.3",
        EXAMPLES["000-1.3"].title,
        (
            Step("table", "Positions 0 to 3 at a width of 8", "sin(pos / 10000^(2i / 8)), cos(pos / 10000^(2i / 8))",
                 table, ("position", "width"), (), "openwork.nn.positions.exact_sinusoids",
                 "Vaswani et al. 2017, section 3.5"),
            Step("first", "The first four numbers of position 0", "PE(0, 0..3)", table[0, :4], ("width",), ("table",),
                 "openwork.nn.positions.exact_sinusoids", "", {}, (judged("000, 1.3", table[0, :4], [0, 1, 0, 1]),)),
            Step("second", "The first two numbers of position 1", "sin(1), cos(1)", table[1, :2], ("width",),
                 ("table",), "openwork.nn.positions.exact_sinusoids", "", {},
                 (judged("000, 1.3", table[1, :2], [0.841, 0.54], 0.001),)),
            Step("third", "The next two numbers of position 1", "sin(1 / 10), cos(1 / 10)", table[1, 2:4], ("width",),
                 ("table",), "openwork.nn.positions.exact_sinusoids", "", {},
                 (judged("000, 1.3", table[1, 2:4], [0.0001, 1.0], 0.0001, third),)),
            Step("sum", "A word with position 0 added, at a width of 4", "x + PE(0)", total, ("width",), (),
                 "openwork.nn.positions.SinusoidalPositions", "", {},
                 (judged("000, 1.3", total, [0.5, 1.3, 0.8, 1.1]),)),
        ),
    )  # fmt: skip


def shapes() -> Trace:
    """Sections 1.2.5 to 1.2.7 and 1.5: the shape of W^O, and of a feed-forward network."""
    attention = MultiHeadAttention(3, Heads(2, 2, 2))
    network = FeedForward(3, 6)
    output = array(tuple(attention.output.weight.T.shape))
    widths = array((network.expand.in_features, network.expand.out_features, network.contract.out_features))
    return Trace(
        "000-shapes",
        EXAMPLES["000-shapes"].title,
        (
            Step("output", "W^O for a width of 3 and two heads of width 2", "(h d_v) x d_model", output, ("axis",), (),
                 "openwork.nn.attention.MultiHeadAttention", "Vaswani et al. 2017, section 3.2.2", {},
                 (judged("000, 1.2.5", output, [3, 3], reason=slip("the heads side by side are 2 x 2 = 4 wide")),)),
            Step("feedforward", "Widths in the feed-forward network", "d_model, d_ff, d_model", widths, ("layer",), (),
                 "openwork.nn.feedforward.FeedForward", "Vaswani et al. 2017, equation 2", {},
                 (judged("000, 1.5", widths, [3, 6, 3]),)),
        ),
        assumed("3 is no multiple of 2 heads, so the heads' width of 2 is given and not d_model / h."),
    )  # fmt: skip
