"""Several corpora in one store, and how often each is read in an epoch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CorpusMixture:
    """Corpora one after another in a store: the pairs of each, and how many of them an epoch takes."""

    sizes: tuple[int, ...]
    taken: tuple[int, ...]

    @classmethod
    def by_weight(cls, sizes: Sequence[int], weights: Sequence[float]) -> "CorpusMixture":
        """An epoch has as many sentences as there are pairs, each corpus its weight's share of them, at least one."""
        total, all_weights = sum(sizes), sum(weights)
        taken = (max(1, round(total * weight / all_weights)) for weight in weights)
        return cls(tuple(sizes), tuple(taken))

    def draw(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """The rows of an epoch in random order.

        A corpus that is to give more than it has gives all of its pairs as often as that goes, and a random choice of
        them once more; one that is to give less gives a random choice, another in each epoch.
        """
        rows: list[NDArray[np.int64]] = []
        first = 0
        for size, taken in zip(self.sizes, self.taken, strict=True):
            rounds, rest = divmod(taken, size)
            rows += [np.tile(np.arange(first, first + size), rounds), first + generator.permutation(size)[:rest]]
            first += size
        return generator.permutation(np.concatenate(rows))
