"""Batches by token budget: pairs of like lengths together, so that few computed positions are padding.

An epoch's plan is made from the lengths alone, with whole-array operations (ten million pairs take seconds). It follows
from (seed, epoch), so that a resumed run has the same batches, and any batch can be had without its predecessors.

A corpus that is too large to be sorted at once is planned in windows of about a million pairs. Every window takes its
pairs from the whole corpus: position j of the epoch is pair (a j + b) mod N, with a and b drawn for the epoch and a
coprime to N, so that every pair comes once and no list of N positions is kept. Memory holds one window's plan.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import TOKENS
from openwork.data.store import StoredLengths, TokenSide, TokenStore
from openwork.text.tokenizer import Tokenizer

WINDOW = 1 << 20
"""The most pairs that are sorted by length together; among them a batch of a hundred finds similar lengths."""

Plan = Sequence[NDArray[np.int64]]


class BatchSettings(Settings):
    """How pairs are grouped into batches."""

    tokens: int = option(4096, "positions a batch may have on its longer side, padding included", gt=0, le=TOKENS)


@dataclass(frozen=True)
class Batch:
    """Pairs as rectangles of ids, padded on the right with 0. B pairs, S and T the longest source and target.

    `source` (B, S): ids, then end; or float32 numbers (B, S, features), without an end. `target_input` (B, T): start,
    then ids. `target_output` (B, T): ids, then end, what the model is to predict at each position of `target_input`.
    Lengths (B) count the end symbol. `rows` (B): the pairs' places in the store. `epoch`: the number of the epoch, a
    seed for random choices.
    """

    rows: NDArray[np.int64]
    source: NDArray[Any]
    source_lengths: NDArray[np.int64]
    target_input: NDArray[np.int64]
    target_output: NDArray[np.int64]
    target_lengths: NDArray[np.int64]
    epoch: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def dealt(self, first: int, count: int) -> "Batch":
        """Every `count`-th pair from number `first` on, as a batch with no more padding than these need."""
        sources, targets = self.source_lengths[first::count], self.target_lengths[first::count]
        source, target = int(sources.max()), int(targets.max())
        return Batch(
            self.rows[first::count], self.source[first::count, :source], sources,
            self.target_input[first::count, :target], self.target_output[first::count, :target], targets, self.epoch,
        )  # fmt: skip


@dataclass(frozen=True)
class EpochPlan(Plan):
    """The batches of one epoch in order; `plan[i]` gives the rows of the store in batch i, in constant time."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, index: int) -> NDArray[np.int64]:  # type: ignore[override]
        batch = self.order[index]
        return self.rows[self.starts[batch] : self.starts[batch + 1]]


class Windows(Plan):
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
            rows = spread_rows(self._factor, self._shift, self._pairs, *self._bounds[number])
            generator = np.random.default_rng([*self._seed, number])
            self._last = number, self._arrange(generator.permutation(rows), generator)
        return self._last[1]


def spread_rows(factor: int, shift: int, pairs: int, start: int, stop: int) -> NDArray[np.int64]:
    """(factor * j + shift) mod pairs for j from `start` to `stop` - 1, of a window's length.

    The first row is a Python integer, and the others follow from their distance to it: from 3 billion pairs on,
    factor * j has more than 63 bits.
    """
    first = (factor * start + shift) % pairs
    return (factor * np.arange(stop - start, dtype=np.int64) + first) % pairs


SideLengths = NDArray[np.integer] | StoredLengths
"""How many tokens each pair has on one side: an array, or lengths that are read from a store when needed."""


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

        A corpus that gives more than it has gives all of its pairs as often as fits, and a random choice of them once
        more; one that gives less gives a random choice, another in each epoch.
        """
        rows: list[NDArray[np.int64]] = []
        first = 0
        for size, taken in zip(self.sizes, self.taken, strict=True):
            rounds, rest = divmod(taken, size)
            rows += [np.tile(np.arange(first, first + size), rounds), first + generator.permutation(size)[:rest]]
            first += size
        return generator.permutation(np.concatenate(rows))


@dataclass(frozen=True)
class BatchPlan:
    """Groups the pairs of a corpus into batches, anew in each epoch.

    No batch has more than `settings.tokens` positions on either side, except that a longer pair is a batch by itself.
    `versions`: how many versions of the same pairs the lengths are of, one version of all after another. `mixture`: how
    often an epoch takes the pairs of which part; without one it takes each once.
    """

    source_lengths: SideLengths
    target_lengths: SideLengths
    settings: BatchSettings
    seed: int
    versions: int = 1
    mixture: CorpusMixture | None = None

    @classmethod
    def of(
        cls,
        store: TokenStore,
        settings: BatchSettings,
        seed: int,
        versions: int = 1,
        mixture: CorpusMixture | None = None,
    ) -> "BatchPlan":
        lengths = StoredLengths(store.source), StoredLengths(store.target)
        return cls(*lengths, settings, seed, versions, mixture)

    def epoch(self, number: int) -> Plan:
        """The plan of epoch `number` (from 0): every pair once, grouped and ordered anew in each epoch.

        With a mixture, pairs come as often as the weight of their part requires. Where there are several versions of
        the pairs, the epochs alternate between them.
        """
        pairs = len(self.source_lengths) // self.versions
        first = number % self.versions * pairs
        seed = [self.seed, number]
        if self.mixture is None and pairs > WINDOW:
            return Windows(pairs, seed, lambda rows, generator: self._batches(first + rows, generator))
        generator = np.random.default_rng(seed)
        rows = self.mixture.draw(generator) if self.mixture else generator.permutation(pairs)
        return self._batches(first + rows, generator)

    def _batches(self, rows: NDArray[np.int64], generator: np.random.Generator) -> EpochPlan:
        """These rows, which come in random order, as batches in random order.

        They are sorted so that neighbours have nearly the same length on both sides. The budget limits the longer side,
        so that is the first key, and the difference of the sides the second. The difference ascends for one length and
        descends for the next: where a batch spans two lengths, its pairs still match. Ties are in random order, and the
        difference is shifted by up to one token, which costs 1 % of padding and halves the number of pairs that are in
        one batch again in the next epoch.
        """
        source, target = self.source_lengths[rows].astype(np.int64), self.target_lengths[rows].astype(np.int64)
        longer = np.maximum(source, target) + 1  # as computed: each side has its end symbol
        difference = source - target + generator.integers(-1, 2, len(rows))
        downwards = (longer + generator.integers(2)) % 2 == 1
        span = int(np.abs(difference).max(initial=0)) + 1
        key = longer * (2 * span) + np.where(downwards, -difference, difference)
        order = np.argsort(key, kind="stable")
        starts = _cut(longer[order], self.settings.tokens)
        return EpochPlan(rows[order], starts, generator.permutation(len(starts) - 1))


def _cut(lengths: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Where batches start in rows of ascending `lengths`, and the end: each as large as the budget allows."""
    starts = [0]
    counts = np.arange(1, min(budget, len(lengths)) + 1)
    while starts[-1] < len(lengths):
        start = starts[-1]
        window = lengths[start : start + max(1, budget // int(lengths[start]))]
        # Ascending, so the last row is the longest, and rows times length ascends too.
        fitting = np.searchsorted(window * counts[: len(window)], budget, side="right")
        starts.append(start + max(1, int(fitting)))
    return np.array(starts, dtype=np.int64)


def assemble(store: TokenStore, rows: NDArray[np.integer], epoch: int = 0) -> Batch:
    """The pairs at `rows` of the store, in that order, as one padded batch."""
    source, source_lengths = _sources(store.source, rows)
    target_ids, target_lengths = gather(store.target, rows)
    target_input = _padded(target_ids, target_lengths, 1)
    target_input[:, 0] = Tokenizer.start_id
    return Batch(
        rows=np.asarray(rows, np.int64),
        source=source,
        source_lengths=source_lengths,
        target_input=target_input,
        target_output=_ended(target_ids, target_lengths),
        target_lengths=target_lengths + 1,
        epoch=epoch,
    )


def _sources(side: TokenSide, rows: NDArray[np.integer]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Padded sources, and their lengths as a model counts them."""
    values, lengths = gather(side, rows)
    if side.form is None:
        return _ended(values, lengths), lengths + side.end_symbols
    return padded_numbers(side.form.read(values), lengths), lengths


def padded_numbers(numbers: NDArray[np.float32], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Rows of numbers, one source after another (positions, features), as (source, position, features), then zeros."""
    longest = int(lengths.max(initial=0))
    padded = np.zeros((len(lengths), longest, numbers.shape[1]), np.float32)
    padded[np.arange(longest) < lengths[:, None]] = numbers
    return padded


def _ended(ids: NDArray[np.integer], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids as padded rows, each with its end symbol."""
    rows = _padded(ids, lengths, 0)
    rows[np.arange(len(lengths)), lengths] = Tokenizer.end_id
    return rows


def gather(side: TokenSide, rows: NDArray[np.integer]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The ids (or numbers) of all `rows` one after another, and the length of each."""
    first = side.offsets[rows]
    lengths = side.offsets[rows + 1] - first
    ends = np.cumsum(lengths)
    places = np.repeat(first - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    return side.tokens[places], lengths


def _padded(ids: NDArray[np.integer], lengths: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """The ids as rows from the column `first` on, with one column for a symbol."""
    longest = int(lengths.max(initial=0))
    matrix = np.full((len(lengths), longest + 1), Tokenizer.pad_id, np.int64)
    matrix[:, first : first + longest][np.arange(longest) < lengths[:, None]] = ids
    return matrix
