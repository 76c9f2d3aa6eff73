"""Which part of a source each part of its translation comes from, as weights between the pieces of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Span = tuple[int, int]
"""A part of a text: its first character and the one after its last."""


@dataclass(frozen=True)
class Alignment:
    """Weights between the pieces of a sentence and of its translation.

    Attributes:
        source: the characters of each piece of the source.
        target: those of each piece of the translation.
        weights: for each piece of the translation, how much of it comes from each piece of the source. A row need not
            add up to 1: what comes from no piece of the text is left out.
    """

    source: Sequence[Span]
    target: Sequence[Span]
    weights: Sequence[Sequence[float]]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, weights to three digits."""
        rows = [[round(float(weight), 3) for weight in row] for row in self.weights]
        return {"source": list(map(list, self.source)), "target": list(map(list, self.target)), "weights": rows}


UNALIGNED = Alignment((), (), ())


@dataclass(frozen=True)
class AlignedSentence:
    """A sentence of a text and its translation: their places in both, and which characters belong together.

    The spans of the alignment count from the beginnings of the sentences.
    """

    source: Span
    target: Span
    alignment: Alignment = UNALIGNED

    def share(self, target: Span, source: Span) -> float:
        """How much of a part of the translation comes from a part of the source: 1 all, -1 nothing, 0 unknown.

        Both are places in the whole texts.
        """
        if source[0] <= self.source[0] and self.source[1] <= source[1]:
            return 1.0
        if source[1] <= self.source[0] or self.source[1] <= source[0]:
            return -1.0
        inside = total = 0.0
        own = [
            _overlap(piece, _moved(source, -self.source[0])) / max(piece[1] - piece[0], 1)
            for piece in self.alignment.source
        ]
        place = _moved(target, -self.target[0])
        for piece, row in zip(self.alignment.target, self.alignment.weights, strict=True):
            part = _overlap(piece, place) / max(piece[1] - piece[0], 1)
            if part:
                inside += part * sum(weight * within for weight, within in zip(row, own, strict=True))
                total += part * sum(row)
        return 2 * inside / total - 1 if total > 1e-6 else 0.0


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by
