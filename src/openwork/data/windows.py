"""An epoch of a corpus that is too large to be sorted at once: window after window, each of about a million pairs.

Every window takes its pairs from the whole corpus: position j of the epoch is pair (a j + b) mod N, with a and b drawn
for the epoch and a coprime to N, so that every pair comes once and no list of N positions is kept. Memory holds one
window's plan, whatever the size of the corpus.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

WINDOW = 1 << 20
"""The most pairs that are sorted by length together; among them a batch of a hundred finds similar lengths."""

Plan = Sequence[NDArray[np.int64]]


class Windows(Sequence[NDArray[np.int64]]):
    """The batches of an epoch in order; any can be had without its predecessors, at the cost of its window's plan.

    `arrange` makes the batches of a window from its rows and a generator.
    """

    def __init__(
        self, pairs: int, seed: Sequence[int], arrange: Callable[[NDArray[np.int64], np.random.Generator], Plan]
    ) -> None:
        self._pairs = pairs
        self._seed = list(seed)
        self._arrange = arrange
        generator = np.random.default_rng(self._seed)
        while math.gcd(factor := int(generator.integers(1, pairs)), pairs) != 1:
            pass
        self._factor, self._shift = factor, int(generator.integers(pairs))
        count = math.ceil(pairs / WINDOW)
        self._bounds = list(pairwise(pairs * window // count for window in range(count + 1)))
        self._last: tuple[int, Plan] | None = None
        # The number of batches of a window is known when it is planned; each is planned again when it is used.
        self._ends = np.cumsum([len(self._window(window)) for window in range(count)])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int) -> NDArray[np.int64]:  # type: ignore[override]
        index = range(len(self))[index]
        window = int(np.searchsorted(self._ends, index, side="right"))
        plan = self._window(window)
        return plan[index - int(self._ends[window]) + len(plan)]

    def _window(self, number: int) -> Plan:
        if self._last is None or self._last[0] != number:
            self._last = None  # frees the memory of the window before
            start, stop = self._bounds[number]
            rows = (self._factor * np.arange(start, stop, dtype=np.int64) + self._shift) % self._pairs
            generator = np.random.default_rng([*self._seed, number])
            self._last = number, self._arrange(generator.permutation(rows), generator)
        return self._last[1]
