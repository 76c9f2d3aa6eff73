"""Hypotheses from what the steps of a beam search have stored: tokens, and which row each continues."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from openwork.decoding.scoring import Hypothesis, penalty_of
from openwork.decoding.settings import DecodingSettings

Array = np.ndarray


@dataclass(frozen=True)
class _Listed:
    """Hypotheses: the sentence of each, its log-probability, its tokens without an end symbol, and its last row."""

    sentences: Int[Array, "hypothesis"]
    values: Float[Array, "hypothesis"]
    lengths: Int[Array, "hypothesis"]
    rows: Int[Array, "hypothesis"]
    finished: bool

    def scores(self, settings: DecodingSettings) -> Float[Array, "hypothesis"]:
        """In double precision, as `scoring.scored` has them."""
        longest = int(self.lengths.max(initial=0)) + 1
        penalties = np.array([penalty_of(max(1, n), settings) for n in range(longest + 1)])
        return self.values.astype(np.float64) / penalties[self.lengths + self.finished]


@dataclass(frozen=True)
class FoundHypotheses:
    """The arrays of a `FixedBeamSearch` after its last step, where they are explained."""

    tokens: Int[Array, "step rows"]
    ancestors: Int[Array, "step rows"]
    ended: Float[Array, "step sentence beam"]
    continued: Int[Array, "step sentence beam"]
    stopped: Float[Array, "sentence beam"]
    lengths: Int[Array, "sentence"]

    def best(self, sentences: int, settings: DecodingSettings) -> list[list[Hypothesis]]:
        """Those of the first `sentences` with the highest scores, best first; of equal scores the one found first."""
        parts = [self._finished(), self._unfinished()]
        owners = np.concatenate([part.sentences for part in parts])
        scores = np.concatenate([part.scores(settings) for part in parts])
        order = np.lexsort((-scores, owners))  # stable: those found first are listed first
        owners = owners[order]
        kept = order[(np.arange(len(order)) - np.searchsorted(owners, owners) < settings.best) & (owners < sentences)]
        columns = [
            np.concatenate([part.sentences for part in parts]),
            np.concatenate([part.values for part in parts]),
            scores,
            np.concatenate([np.full(len(part.rows), part.finished) for part in parts]),
        ]
        lengths, rows = (np.concatenate([getattr(part, name) for part in parts])[kept] for name in ("lengths", "rows"))
        found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        facts = zip(self._texts(lengths, rows), *(column[kept].tolist() for column in columns), strict=True)
        for tokens, sentence, value, score, finished in facts:
            found[sentence].append(Hypothesis(tokens, value, score, finished))
        return found

    def _finished(self) -> _Listed:
        step, sentence, place = (self.ended > -np.inf).nonzero()
        chosen = step, sentence, place
        return _Listed(sentence, self.ended[chosen], step, self.continued[chosen], True)

    def _unfinished(self) -> _Listed:
        sentence, place = (self.stopped > -np.inf).nonzero()
        rows = sentence * self.stopped.shape[1] + place
        return _Listed(sentence, self.stopped[sentence, place], self.lengths[sentence], rows, False)

    def _texts(self, lengths: Int[Array, "hypothesis"], rows: Int[Array, "hypothesis"]) -> Iterator[tuple[int, ...]]:
        """The tokens of hypotheses of these lengths that end in these rows."""
        longest = int(lengths.max(initial=0))
        written = np.zeros((longest, len(rows)), np.int64)
        for step in reversed(range(longest)):
            written[step] = self.tokens[step, rows]
            rows = np.where(step < lengths, self.ancestors[step, rows], rows)
        return (tuple(text[:length]) for text, length in zip(written.T.tolist(), lengths.tolist(), strict=True))
