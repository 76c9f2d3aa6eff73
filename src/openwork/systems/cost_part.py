"""The unit of the cost model: one kind of sub-layer. No torch here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lengths:
    """Tokens of a sentence and of its translation, end symbols included."""

    source: int
    target: int


@dataclass(frozen=True)
class Part:
    """A kind of sub-layer, `count` times in the model, and what one of it costs for one sentence pair.

    Args:
        weights: learnt numbers.
        products: multiplications with an addition each, forward; two floating-point operations apiece. What is done
            number by number (norms, softmax, activations, dropout, sums) is left out: below 2 % in the paper's sizes.
        kept: numbers that the forward pass keeps for the backward pass, where attention weights are not kept.
    """

    name: str
    count: int
    weights: int
    products: int = 0
    kept: int = 0
