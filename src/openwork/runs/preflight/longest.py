"""The batches that need most, among those of the first epoch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openwork.cost.cost import Cost, cost_of
from openwork.data.store import StoredLengths, TokenStore
from openwork.runs.preflight.subject import PreflightContext


@dataclass(frozen=True)
class DemandingBatch:
    """`source` and `target`: tokens of its longest sentences, end symbols counted; `cost`: of pairs so long."""

    rows: NDArray[np.int64]
    source: int
    target: int
    cost: Cost

    @property
    def sentences(self) -> int:
        return len(self.rows)

    @property
    def target_tokens(self) -> int:
        """Positions of the targets, padding included."""
        return self.sentences * self.target


def demanding_batches(subject: PreflightContext) -> list[DemandingBatch]:
    """The one whose forward pass keeps most for the backward pass, by formula; then the one with the longest sentence.

    For the first, those with the most positions and with the most pairs of positions, which attention compares, are
    looked at closely; that needs no look into the model for each batch. Often both are one.
    """
    plan = subject.stream.epoch(0)
    count, source, target = _shapes(plan, subject.train)
    positions = count * (source + target)
    pairs = count * (source**2 + source * target + target**2)

    def batch(place: int) -> DemandingBatch:
        return _batch(subject, plan[place], int(source[place]), int(target[place]))

    batches = {int(place): batch(int(place)) for place in (positions.argmax(), pairs.argmax())}
    fullest = max(batches, key=lambda place: batches[place].cost.kept(batches[place].target_tokens))
    longest = int(np.maximum(source, target).argmax())
    return [batches[fullest], *([batch(longest)] if longest != fullest else [])]


def beyond_budget(subject: PreflightContext) -> int:
    """How many pairs are longer than a batch may be; each is a batch of its own."""
    longer = np.maximum(subject.train.source_lengths, subject.train.target_lengths) + 1
    return int((longer > subject.settings.batches.tokens).sum())


def _shapes(plan: Sequence[NDArray[np.int64]], store: TokenStore) -> tuple[NDArray, NDArray, NDArray]:
    """Of each batch the sentences, and the tokens of its longest source and target."""
    sources, targets = StoredLengths(store.source), StoredLengths(store.target)
    shapes = [(len(rows), int(sources[rows].max()) + 1, int(targets[rows].max()) + 1) for rows in plan]
    count, source, target = np.array(shapes, dtype=np.int64).T
    return count, source, target


def _batch(subject: PreflightContext, rows: NDArray[np.int64], source: int, target: int) -> DemandingBatch:
    tokenizers = subject.tokenizers
    cost = cost_of(
        subject.settings.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size,
        source_length=source, target_length=target,
    )  # fmt: skip
    return DemandingBatch(rows, source, target, cost)
