"""The documents' numeric examples of attention: three words, a table of ages, the scale, and the causal mask."""

import numpy as np
import torch
from torch import Tensor, nn

from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention_scores, masked_scores, softmax_over, weighted_sum
from openwork.nn.masks import causal
from openwork.study.steps import EQUATION_1, MASK, SCORES, SOFTMAX, SQUARE, WEIGHTED_SUM, Part, Quoted, Worked, worked

X = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
X_WEIGHTS = [[0.4223, 0.1554, 0.4223], [0.2119, 0.394, 0.394], [0.2119, 0.2119, 0.5762]]
X_OUTPUT = [[0.8446, 0.5777], [0.788, 0.788], [0.788, 0.9999]]
ROWS = ("position", "width")


def identity_attention() -> MultiHeadAttention:
    """One head of width 2 whose projections change nothing."""
    attention = MultiHeadAttention(2, Heads(1, 2, 2)).double()
    with torch.no_grad():
        for projection in (attention.query, attention.key, attention.value, attention.output):
            nn.init.eye_(projection.weight)
    return attention


def attend(scale: float) -> dict[str, Tensor]:
    """Queries, scores, weights and output of self-attention over the rows of X."""
    attention = identity_attention()
    with torch.no_grad():
        x = torch.tensor([X], dtype=torch.float64)
        memory = attention.keys_values(x)
        query = attention.queries(x)
        scores = attention_scores(query, memory.key, scale)
        weights = softmax_over(scores, None)
        output = attention.output(attention.join(weighted_sum(weights, memory.value)))
    return {"query": query[0, 0], "scores": scores[0, 0], "weights": weights[0, 0], "output": output[0]}


def three_words() -> Worked:
    """Document 000, section 1.1.7, which leaves the scale out; the last steps are with it."""
    made, scaled = attend(1.0), attend(identity_attention().scale)
    queries = Part("openwork.nn.attention.MultiHeadAttention.queries", EQUATION_1)
    return Worked(
        (
            worked("query", "Queries, keys and values: the words themselves", "Q = K = V = X W, W = I", made["query"],
                   queries, (), Quoted("000, 1.1.7", X)),
            worked("scores", "The product of each query and each key", "Q K^T", made["scores"], SCORES, ("query",),
                   Quoted("000, 1.1.7", [[1, 0, 1], [0, 1, 1], [1, 1, 2]])),
            worked("weights", "A softmax over the keys makes weights", "A = softmax(Q K^T)", made["weights"], SOFTMAX,
                   ("scores",), Quoted("000, 1.1.7", X_WEIGHTS, 0.0001,
                                       "row 2 takes its first entry from row 3; it is row 1 in another order")),
            worked("output", "The values, summed by their weights", "Z = A V", made["output"], WEIGHTED_SUM,
                   ("weights", "query"),
                   Quoted("000, 1.1.7", X_OUTPUT, 0.0001,
                          "row 2 follows from no printed weights, and both entries of row 3 must be equal"), ROWS),
            worked("scaled.weights", "The weights with the paper's scale", "softmax(Q K^T / sqrt(2))",
                   scaled["weights"], SOFTMAX, ("query",)),
            worked("scaled.output", "The output with the paper's scale", "softmax(Q K^T / sqrt(2)) V",
                   scaled["output"], WEIGHTED_SUM, ("scaled.weights", "query"), axes=ROWS),
        ),
        ("The document leaves out the division by sqrt(d_k); the last two steps have it.",),
    )  # fmt: skip


NAMES = ("张三", "张三", "李四", "张伟")
KEYS = ((1.0, 2.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 2.0), (1.0, 4.0, 0.0))
AGES = (18.0, 20.0, 22.0, 19.0)
QUERY = (1.0, 0.0, 0.0)  # asks for the surname 张


def ask(
    scale: float, query: tuple[float, ...] = QUERY, matching: tuple[bool, ...] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, weights over the rows and the weighted age; with `matching`, only those rows may be attended."""
    queries, keys = (torch.tensor(rows, dtype=torch.float64)[None, None] for rows in ((query,), KEYS))
    ages = torch.tensor(AGES, dtype=torch.float64)[None, None, :, None]
    allowed = None if matching is None else torch.tensor(matching)[None, None, None]
    scores = attention_scores(queries, keys, scale)
    weights = softmax_over(scores, allowed)
    return scores[0, 0, 0], weights[0, 0, 0], weighted_sum(weights, ages)[0, 0, 0]


def mean_age(surname: str) -> float:
    """The mean age of those whose name begins so: equal scores, and a mask over the other rows."""
    return ask(1.0, (0.0, 0.0, 0.0), tuple(name.startswith(surname) for name in NAMES))[2].item()


def database() -> Worked:
    """Document 004: the query by equal names, by a vector, and by a vector with the mask that gives its weights."""
    scores, weights, age = ask(1.0)
    _, scaled_weights, scaled_age = ask(MultiHeadAttention(3, Heads(1, 3, 1)).scale)
    _, masked_weights, masked_age = ask(1.0, matching=tuple(key[0] == 1 for key in KEYS))
    third = [1 / 3, 1 / 3, 0.0, 1 / 3]
    keys, ages, softmax = {"key": NAMES}, ("value_width",), Part(SOFTMAX.code)
    return Worked(
        (
            worked("exact", "The mean age of 张三: only equal names are attended", "mean", [mean_age("张三")], softmax,
                   (), Quoted("004", [19]), ages),
            worked("prefix", "The mean age of all whose surname is 张", "mean", [mean_age("张")], softmax,
                   (), Quoted("004", [19]), ages),
            worked("scores", "The product of the query vector and each key", "q K^T", scores, SCORES,
                   (), Quoted("004", [1, 1, 0, 1]), keys),
            worked("weights", "A softmax over the keys makes weights", "softmax(q K^T)", weights, SOFTMAX, ("scores",),
                   Quoted("004", third, 0.001, "a softmax gives no exact 0: these are the scores divided by their sum"),
                   keys),
            worked("age", "The ages, summed by their weights", "softmax(q K^T) V", age, WEIGHTED_SUM, ("weights",),
                   Quoted("004", [19], 0.1, "19 needs weights of a third, which a softmax does not give"), ages),
            worked("scaled.weights", "The weights with the paper's scale", "softmax(q K^T / sqrt(3))", scaled_weights,
                   SOFTMAX, ("scores",), axes=keys),
            worked("scaled.age", "The age with the paper's scale", "softmax(q K^T / sqrt(3)) V", scaled_age,
                   WEIGHTED_SUM, ("scaled.weights",), axes=ages),
            worked("masked.weights", "With a mask over the rows that do not match", "softmax(q K^T + mask)",
                   masked_weights, SOFTMAX, ("scores",), Quoted("004", third, 0.001), keys),
            worked("masked.age", "The age with that mask", "softmax(q K^T + mask) V", masked_age, WEIGHTED_SUM,
                   ("masked.weights",), Quoted("004", [19]), ages),
        ),
        ("The document lists two rows of one name; a dictionary would keep one of them, so rows are pairs.",),
    )  # fmt: skip


def score_variance(width: int, scale: float) -> float:
    """The variance of scale q k over keys whose entries have mean 0, variance 1 and no correlation.

    The rows of a Hadamard matrix and their negatives are such keys: so the variance is exact and no estimate.
    """
    rows = torch.ones(1, 1, dtype=torch.float64)
    while len(rows) < width:
        rows = torch.cat([torch.cat([rows, rows], 1), torch.cat([rows, -rows], 1)])
    keys = torch.cat([rows, -rows])[None, None]
    return attention_scores(rows[None, None, :1], keys, scale).var(unbiased=False).item()


def odds(score: float) -> float:
    """By how much a key with this score outweighs one with score 0: e to the score, as the softmax makes it."""
    weights = softmax_over(torch.tensor([[[[score, 0.0]]]], dtype=torch.float64), None)[0, 0, 0]
    return (weights[0] / weights[1]).item()


def variance() -> Worked:
    """Document 002, section 2.2.2."""
    widths = {"width": ("64", "512")}
    spread = [score_variance(width, 1.0) for width in (64, 512)]
    scaled = [score_variance(width, scale_of(width)) for width in (64, 512)]
    return Worked(
        (
            worked("variance", "The variance of q k for heads of width 64 and 512", "Var(q k) = d_k", spread, SCORES,
                   (), Quoted("002, 2.2.2", [64, 512]), widths),
            worked("scaled", "The same after the division", "Var(q k / sqrt(d_k)) = 1", scaled, SCORES,
                   (), Quoted("002, 2.2.2", [1, 1]), widths),
            worked("saturation", "How a key with score 100, or -100, outweighs one with score 0", "e^100, e^-100",
                   [odds(100.0), odds(-100.0)], SOFTMAX, (),
                   Quoted("002, 2.2.2", [2.68e43, 3.72e-44], [1e41, 1e-46], "cut off, not rounded: 2.69e43"),
                   {"key": ("100", "-100")}),
        ),
        ("Keys are the rows of a Hadamard matrix and their negatives: mean 0, variance 1, uncorrelated.",),
    )  # fmt: skip


MASKABLE = ((1.2, 0.8, 0.5, 0.3), (0.9, 1.5, 0.7, 0.4), (0.6, 0.9, 1.8, 0.6), (0.4, 0.7, 1.2, 2.0))
MASKED_WEIGHTS = [[1.0, 0.0, 0.0, 0.0], [0.3, 0.7, 0.0, 0.0], [0.1, 0.2, 0.7, 0.0], [0.05, 0.1, 0.25, 0.6]]
NEVER = float("-inf")
CAUSAL = [[0.0, NEVER, NEVER, NEVER], [0.0, 0.0, NEVER, NEVER], [0.0, 0.0, 0.0, NEVER], [0.0, 0.0, 0.0, 0.0]]


def masked_weights(scores: Tensor) -> np.ndarray:
    """Weights of causal self-attention from scaled scores (query, key)."""
    return softmax_over(scores[None, None].double(), causal(4, 4))[0, 0].numpy()


def mask_as_numbers(size: int) -> Tensor:
    """The causal mask as it is added to scores: 0 where a query may attend, else minus infinity."""
    nothing = torch.zeros(1, 1, size, size, dtype=torch.float64)
    return masked_scores(nothing, causal(size, size))[0, 0]


def mask() -> Worked:
    """Document 002, section 5.2."""
    scores = torch.tensor(MASKABLE, dtype=torch.float64)
    return Worked(
        (
            worked("scores", "Scaled scores, as the document gives them", "S", scores, Part(axes=SQUARE)),
            worked("mask", "The mask: no position attends to a later one", "0 where key <= query, else -inf",
                   mask_as_numbers(4), MASK, (), Quoted("002, 5.2.1", CAUSAL)),
            worked("weights", "A softmax over the keys that remain", "softmax(S + mask)", masked_weights(scores),
                   SOFTMAX, ("scores", "mask"),
                   Quoted("002, 5.2.2", MASKED_WEIGHTS, 0.1, "only row 1 is the softmax of the scores")),
        ),
    )  # fmt: skip
