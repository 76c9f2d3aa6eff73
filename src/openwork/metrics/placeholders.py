"""Whether translations keep what must not be translated: placeholders, tags, mark-up."""

from collections import Counter
from collections.abc import Sequence

from openwork.base.errors import DataError
from openwork.metrics.ratio import Ratio


def placeholders_kept(sources: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> Ratio:
    """How many translations have exactly the placeholders of their source, each as often as there, in any order.

    Each item is the list of placeholders of a sentence. Only sources that have any are counted, so `count` is 0 where
    there is nothing to keep.
    """
    if len(sources) != len(hypotheses):
        raise DataError(
            f"{len(hypotheses):,} translations against {len(sources):,} sources",
            hint="give one translation for each source, in the same order",
            code="D067",
        )
    concerned = [(source, found) for source, found in zip(sources, hypotheses, strict=True) if source]
    kept = sum(Counter(source) == Counter(found) for source, found in concerned)
    return Ratio(float(kept), len(concerned))
