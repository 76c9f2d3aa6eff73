"""The batches that need most, among those of the first epoch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openwork.data.batching import EpochPlan
from openwork.data.store import TokenStore
from openwork.systems.cost import Cost, cost_of
from openwork.systems.preflight.subject import Subject


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


def demanding_batches(subject: Subject) -> list[DemandingBatch]:
    """The one whose forward pass keeps most for the backward pass, by formula; then the one with the longest sentence.

    For the first, those with the most positions and with the most pairs of positions, which attention compares, are
    looked at closely; that needs no look into the model for each batch. Often both are one.
    """
    plan = subject.stream.epoch(0)
    shapes = _shapes(plan, subject.train)
    count, source, target = shapes
    positions = count * (source + target)
    pairs = count * (source**2 + source * target + target**2)
    batches = {int(place): _batch(subject, plan, shapes, int(place)) for place in (positions.argmax(), pairs.argmax())}
    fullest = max(batches, key=lambda place: batches[place].cost.kept(batches[place].target_tokens))
    longest = int(np.maximum(source, target).argmax())
    return [batches[fullest], *([_batch(subject, plan, shapes, longest)] if longest != fullest else [])]


def beyond_budget(subject: Subject) -> int:
    """How many pairs are longer than a batch may be; each is a batch of its own."""
    longer = np.maximum(subject.train.source_lengths, subject.train.target_lengths) + 1
    return int((longer > subject.settings.batches.tokens).sum())


def _shapes(plan: EpochPlan, store: TokenStore) -> tuple[NDArray, NDArray, NDArray]:
    """Of each batch the sentences, and the tokens of its longest source and target."""
    starts = plan.starts[:-1]
    longest = [
        np.maximum.reduceat(side[plan.rows], starts) + 1 for side in (store.source_lengths, store.target_lengths)
    ]
    return np.diff(plan.starts), longest[0].astype(np.int64), longest[1].astype(np.int64)


def _batch(subject: Subject, plan: EpochPlan, shapes: tuple[NDArray, NDArray, NDArray], place: int) -> DemandingBatch:
    rows = plan.rows[plan.starts[place] : plan.starts[place + 1]]
    source, target = int(shapes[1][place]), int(shapes[2][place])
    tokenizers = subject.tokenizers
    cost = cost_of(
        subject.settings.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size,
        source_length=source, target_length=target,
    )  # fmt: skip
    return DemandingBatch(rows, source, target, cost)
