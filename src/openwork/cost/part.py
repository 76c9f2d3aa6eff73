"""The unit of the cost model: one kind of sub-layer. No torch here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SentenceLengths:
    """Tokens of a sentence and of its translation, end symbols included; means of many are fractions."""

    source: float
    target: float


@dataclass(frozen=True)
class CostPart:
    """A kind of sub-layer, `count` times in the model, and the cost of one for one sentence pair.

    Args:
        weights: number of weights.
        products: multiply-adds of the forward pass; two floating-point operations each. Elementwise operations (norms,
            softmax, activations, dropout, sums) are left out: below 2 % in the paper's sizes.
        kept: numbers that the forward pass keeps for the backward pass, in the type of the matrix products.
        wide: numbers that it keeps in float32, whatever that type is.
        plain: numbers that it keeps only if that type is float32.
        narrow: numbers that it keeps, in that type, only if that is a narrow one, which is computed in another way.
    """

    name: str
    count: int
    weights: int
    products: float = 0
    kept: float = 0
    wide: float = 0
    plain: float = 0
    narrow: float = 0
