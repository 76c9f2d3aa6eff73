"""A quotient whose parts can still be added: the division happens once, where the number is shown."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """A sum and what it is a sum over; `sum(ratios, Ratio())` joins batches or files of any sizes exactly."""

    total: float = 0.0
    count: int = 0

    def __add__(self, other: "Ratio") -> "Ratio":
        return Ratio(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        """`total / count`, and NaN where nothing was counted."""
        return self.total / self.count if self.count else math.nan


def perplexity(ratio: Ratio) -> float:
    """exp of the mean negative log-likelihood a token (`total` in nats, `count` in tokens); inf where it overflows."""
    try:
        return math.exp(ratio.value)
    except OverflowError:
        return math.inf
