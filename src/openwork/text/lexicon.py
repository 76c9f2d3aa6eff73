"""Which target pieces translate a source piece: IBM model 1 (Brown et al. 1993), learned from pairs alone.

Every target piece of a pair comes from one of its source pieces, and which one is not known. So each iteration shares
every target piece out among the source pieces of its pair by what is believed so far, equation by equation

    expectation     c(t | s) = sum over pairs of   p(t | s) / sum over s' of the pair  p(t | s')
    maximisation    p(t | s) = c(t | s) / sum over t' of  c(t' | s)

and the likelihood of the targets never falls.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

ITERATIONS = 5
MOST_LINKS = 20_000_000  # pairs of a source and a target piece that are looked at: about 1 GB while learning


@dataclass(frozen=True)
class Lexicon:
    """The possible links between pieces, sorted by source, and the probability of the target given the source."""

    sources: Ids
    targets: Ids
    probabilities: NDArray[np.float64]

    def best(self, vocabulary_size: int, count: int) -> Ids:
        """The most probable targets of each source piece (source, count), best first, of equals the lower id first.

        Where there are fewer, -1 stands in their places.
        """
        order = np.lexsort((self.targets, -self.probabilities, self.sources))
        sources, targets = self.sources[order], self.targets[order]
        place = np.arange(len(sources)) - np.searchsorted(sources, sources)
        chosen = place < count
        found = np.full((vocabulary_size, count), -1, dtype=np.int64)
        found[sources[chosen], place[chosen]] = targets[chosen]
        return found


def learn_lexicon(pairs: Iterable[tuple[list[int], list[int]]], iterations: int = ITERATIONS) -> Lexicon:
    """From pairs of ids, as many from the beginning as `MOST_LINKS` allows. A pair without a side teaches nothing."""
    sources, targets, groups = _links(pairs)
    span = int(targets.max(initial=0)) + 1
    kinds, kind = np.unique(sources * span + targets, return_inverse=True)  # each possible link once
    by_source = kinds // span
    probabilities = np.ones(len(kinds))
    for _ in range(iterations):
        belief = probabilities[kind]
        share = belief / np.bincount(groups, belief)[groups]
        counts = np.bincount(kind, share, len(kinds))
        probabilities = counts / np.bincount(by_source, counts)[by_source]
    return Lexicon(by_source, kinds % span, probabilities)


def _links(pairs: Iterable[tuple[list[int], list[int]]]) -> tuple[Ids, Ids, Ids]:
    """Every source piece with every target piece of its pair, and the number of that target piece in the corpus."""
    sources, targets, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    links = pieces = 0
    for source, target in pairs:
        sources.append(np.tile(np.asarray(source, np.int64), len(target)))
        targets.append(np.repeat(np.asarray(target, np.int64), len(source)))
        groups.append(np.repeat(pieces + np.arange(len(target)), len(source)))
        links += len(source) * len(target)
        pieces += len(target)
        if links >= MOST_LINKS:
            break
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(groups)
