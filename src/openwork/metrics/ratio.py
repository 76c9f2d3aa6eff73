"""Quotients whose parts can still be added: the division happens once, where the number is shown."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from openwork.base.errors import DataError


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


def check_counts(outputs: Sequence[Hashable], references: Sequence[Hashable]) -> None:
    """`DataError` unless there are as many outputs of a model as references."""
    if len(outputs) != len(references):
        raise DataError(
            f"{len(outputs):,} outputs cannot be compared with {len(references):,} references",
            hint="give one reference for each output, in the same order",
            code="D069",
        )


def exact_match(hypotheses: Sequence[Hashable], references: Sequence[Hashable]) -> Ratio:
    """How many hypotheses equal their reference, of how many; `DataError` if the two counts differ."""
    check_counts(hypotheses, references)
    right = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True))
    return Ratio(float(right), len(references))


def placeholders_kept(sources: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> Ratio:
    """How many translations have exactly the placeholders of their source, each as often as there, in any order.

    Each item is the list of placeholders of a sentence. Only sources that have any are counted, so `count` is 0 where
    there is nothing to keep.
    """
    kept = [Counter(source) == Counter(found) for source, found in zip(sources, hypotheses, strict=True) if source]
    return Ratio(float(sum(kept)), len(kept))


def f1(true: float, predicted: float, right: float) -> float:
    """2 true / (predicted + right), where `true` counts what is both predicted and right; 0 where there is nothing.

    The harmonic mean of precision and recall; van Rijsbergen, "Information Retrieval" (1979).
    """
    return 2 * true / (predicted + right) if predicted + right else 0.0
