"""Document 004: attention as a query to a table of names and ages."""

import torch
from torch import Tensor

from openwork.inspection.trace import Step, Trace
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.kernels.reference import attention_scores, softmax_over, weighted_sum
from openwork.study.documents import EXAMPLES
from openwork.study.documents.verdicts import array, assumed, judged, slip

NAMES = ("张三", "张三", "李四", "张伟")
KEYS = ((1.0, 2.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 2.0), (1.0, 4.0, 0.0))
AGES = (18.0, 20.0, 22.0, 19.0)
QUERY = (1.0, 0.0, 0.0)  # asks for the surname 张
EQUATION = "Vaswani et al. 2017, equation 1"


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
    matching = tuple(name.startswith(surname) for name in NAMES)
    return ask(1.0, (0.0, 0.0, 0.0), matching)[2].item()


def database() -> Trace:
    """The query by equal names, by a vector, and by a vector with the mask that gives the printed weights."""
    scores, weights, age = (array(value) for value in ask(1.0))
    _, scaled_weights, scaled_age = (array(value) for value in ask(MultiHeadAttention(3, Heads(1, 3, 1)).scale))
    _, masked_weights, masked_age = (array(value) for value in ask(1.0, matching=tuple(key[0] == 1 for key in KEYS)))
    third = [1 / 3, 1 / 3, 0.0, 1 / 3]
    labels = {"key": NAMES}
    never = slip("a softmax gives no exact 0: these are the scores divided by their sum")
    return Trace(
        "004-database",
        EXAMPLES["004-database"].title,
        (
            Step("exact", "The mean age of 张三: only equal names are attended", "mean", array([mean_age("张三")]),
                 ("value_width",), (), "openwork.nn.kernels.reference.softmax_over", "", {},
                 (judged("004", [mean_age("张三")], [19]),)),
            Step("prefix", "The mean age of all whose surname is 张", "mean", array([mean_age("张")]),
                 ("value_width",), (), "openwork.nn.kernels.reference.softmax_over", "", {},
                 (judged("004", [mean_age("张")], [19]),)),
            Step("scores", "The query vector meets each key", "q K^T", scores, ("key",), (),
                 "openwork.nn.kernels.reference.attention_scores", EQUATION, labels,
                 (judged("004", scores, [1, 1, 0, 1]),)),
            Step("weights", "A softmax over the keys makes weights", "softmax(q K^T)", weights, ("key",), ("scores",),
                 "openwork.nn.kernels.reference.softmax_over", EQUATION, labels,
                 (judged("004", weights, third, 0.001, never),)),
            Step("age", "The ages, summed by their weights", "softmax(q K^T) V", age, ("value_width",), ("weights",),
                 "openwork.nn.kernels.reference.weighted_sum", EQUATION, {},
                 (judged("004", age, [19], 0.1, "19 needs weights of a third, which a softmax does not give"),)),
            Step("scaled.weights", "The weights with the paper's scale", "softmax(q K^T / sqrt(3))", scaled_weights,
                 ("key",), ("scores",), "openwork.nn.kernels.reference.softmax_over", EQUATION, labels),
            Step("scaled.age", "The age with the paper's scale", "softmax(q K^T / sqrt(3)) V", scaled_age,
                 ("value_width",), ("scaled.weights",), "openwork.nn.kernels.reference.weighted_sum", EQUATION),
            Step("masked.weights", "With a mask over the rows that do not match", "softmax(q K^T + mask)",
                 masked_weights, ("key",), ("scores",), "openwork.nn.kernels.reference.softmax_over", EQUATION, labels,
                 (judged("004", masked_weights, third, 0.001),)),
            Step("masked.age", "The age with that mask", "softmax(q K^T + mask) V", masked_age, ("value_width",),
                 ("masked.weights",), "openwork.nn.kernels.reference.weighted_sum", EQUATION, {},
                 (judged("004", masked_age, [19]),)),
        ),
        assumed("The document lists two rows of one name; a dictionary would keep one of them, so rows are pairs."),
    )  # fmt: skip
