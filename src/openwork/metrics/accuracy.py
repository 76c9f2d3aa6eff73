"""The share of answers that are right."""

from collections.abc import Hashable, Sequence

from openwork.base.errors import DataError
from openwork.metrics.ratio import Ratio


def exact_match(hypotheses: Sequence[Hashable], references: Sequence[Hashable]) -> Ratio:
    """How many hypotheses equal their reference, of how many; `DataError` if the two counts differ."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses):,} hypotheses cannot be compared with {len(references):,} references",
            hint="give one reference for each hypothesis, in the same order",
            code="D066",
        )
    right = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True))
    return Ratio(float(right), len(references))
