"""Which part of a source each part of its translation comes from, as weights between the pieces of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
"""A part of a text: its first character and the one after its last."""


@dataclass(frozen=True)
class Alignment:
    """Weights between the pieces of a sentence and of its translation.

    Attributes:
        source: the characters of each piece of the source.
        target: those of each piece of the translation.
        weights: for each piece of the translation, how much of it comes from each piece of the source (target,
            source). A row need not add up to 1: what comes from no piece of the text is left out.
    """

    source: Sequence[Span]
    target: Sequence[Span]
    weights: Any

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

    def word_weights(self, words: Sequence[Span]) -> NDArray[np.float64]:
        """For each word of the translation, how much of it comes from each piece of the source (word, piece).

        Words are places in the whole translation.
        """
        one = self.alignment
        if not one.target or not one.source:
            return np.zeros((len(words), len(one.source)))
        own = _moved(words, -self.target[0])
        return _shares_of(one.target, own) @ np.asarray(one.weights, np.float64)

    def shares(self, weights: NDArray[np.float64], source: Span) -> NDArray[np.float64]:
        """How much of each word comes from a part of the source: 1 all, -1 nothing, 0 unknown.

        `weights` are those of the words; the part is a place in the whole source.
        """
        total = weights.sum(1)
        (inside,) = _shares_of(self.alignment.source, _moved([source], -self.source[0]))
        found = np.divide(2 * (weights @ inside), total, out=np.ones_like(total), where=total > 1e-6)
        return found - 1


def _shares_of(pieces: Sequence[Span], spans: Sequence[Span]) -> NDArray[np.float64]:
    """Which share of each piece is in each span (span, piece)."""
    one, other = np.array(spans, np.int64).reshape(-1, 1, 2), np.array(pieces, np.int64).reshape(1, -1, 2)
    overlap = np.minimum(one[..., 1], other[..., 1]) - np.maximum(one[..., 0], other[..., 0])
    return overlap.clip(0) / (other[..., 1] - other[..., 0]).clip(1)


def _moved(spans: Sequence[Span], by: int) -> list[Span]:
    return [(begin + by, end + by) for begin, end in spans]
