"""The unit of the cost model: one kind of sub-layer. No torch here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SentenceLengths:
    """Tokens of a sentence and of its translation, end symbols included; means of many are fractions."""

    source: float
    target: float


@dataclass(frozen=True)
class CostPart:
    """A kind of sub-layer, `count` times in the model, and what one of it costs for one sentence pair.

    Args:
        weights: learnt numbers.
        products: multiplications with an addition each, forward; two floating-point operations apiece. What is done
            number by number (norms, softmax, activations, dropout, sums) is left out: below 2 % in the paper's sizes.
        kept: numbers that the forward pass keeps for the backward pass, in the type of the matrix products.
        wide: numbers that it keeps in float32 whatever that type is.
        plain: numbers that it keeps only where that type is float32.
        narrow: numbers that it keeps, in that type, only where that is a narrow one: another way is faster there, or
            what was computed in float32 goes on.
    """

    name: str
    count: int
    weights: int
    products: float = 0
    kept: float = 0
    wide: float = 0
    plain: float = 0
    narrow: float = 0
