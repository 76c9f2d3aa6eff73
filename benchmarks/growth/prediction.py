"""What the cost model says of a shape, beside what was measured.

Memory needs no measurement: it is a formula. The time of an update is the sum of five kinds of work, each by its amount
and a rate of this machine. The rates are found from every second point (least squares of the relative errors, none
negative); the other points, which had no part in it, show how well that predicts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from growth.shapes import Shape
from openwork.cost.cost import cost_of
from openwork.cost.part import MemoryCost

WORK = ("a constant", "operations of projections", "operations of attention", "numbers kept", "logits", "weights")
ROUNDS = 2000
SIZES = {"bfloat16": 2, "float32": 4}


def predicted_memory(shape: Shape, precision: str) -> MemoryCost:
    """Of an update with Adam."""
    return _cost(shape).memory(shape.tokens, SIZES[precision])


def work_of(shape: Shape) -> list[float]:
    """The amounts of `WORK` in an update."""
    cost = _cost(shape)
    heads, sublayers = shape.settings.heads, 3 * shape.layers  # attentions: one in the encoder, two in the decoder
    scores = 2 * heads * shape.settings.key_width * shape.length**2 * sublayers
    attention = 3 * 2 * scores * shape.sentences
    kept = cost.kept(shape.tokens) / 4
    logits = shape.tokens * shape.vocabulary
    return [1.0, cost.training_flops * shape.tokens - attention, attention, kept, logits, cost.weights]


def fit(shapes: Sequence[Shape], seconds: Sequence[float]) -> np.ndarray:
    """Seconds for one of each kind of work, none negative: projected gradient on the relative errors."""
    amounts = np.array([work_of(shape) for shape in shapes]) / np.array(seconds)[:, None]
    scale = amounts.max(axis=0)
    amounts = amounts / scale
    rates, step = np.zeros(len(WORK)), 1 / np.linalg.norm(amounts, 2) ** 2
    momentum, before = rates, rates
    for turn in range(20 * ROUNDS):  # accelerated, as the kinds of work grow nearly together
        rates = np.maximum(momentum - step * amounts.T @ (amounts @ momentum - 1), 0)
        momentum, before = rates + turn / (turn + 3) * (rates - before), rates
    return rates / scale


def predicted_seconds(shape: Shape, rates: np.ndarray) -> float:
    """Of an update."""
    return float(np.dot(work_of(shape), rates))


def _cost(shape: Shape) -> Any:
    return cost_of(shape.settings, shape.vocabulary, source_length=shape.length, target_length=shape.length)
