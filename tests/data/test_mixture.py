"""Mixing by weight: exact counts, every pair before any comes again, and the same in the same epoch."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.batching import BatchPlan, BatchSettings, CorpusMixture

PARTS = st.lists(st.tuples(st.integers(1, 30), st.floats(0.01, 100)), min_size=1, max_size=4)


def rows_of(mixture: CorpusMixture | None, epoch: int, pairs: int, seed: int = 1, versions: int = 1) -> np.ndarray:
    lengths = np.random.default_rng(3).integers(1, 20, pairs * versions).astype(np.int32)
    plan = BatchPlan(lengths, lengths[::-1].copy(), BatchSettings(tokens=60), seed, versions, mixture)
    return np.concatenate(list(plan.epoch(epoch)))


def test_shares_by_hand() -> None:
    mixture = CorpusMixture.by_weight([10, 90], [3, 1])  # three quarters of the hundred, and one
    assert mixture.taken == (75, 25)
    assert CorpusMixture.by_weight([1000, 1], [1, 0.000001]).taken == (1001, 1)


@given(parts=PARTS, seed=st.integers(0, 2**32))
def test_an_epoch_takes_what_the_weights_say_and_spreads_it(parts: list[tuple[int, float]], seed: int) -> None:
    sizes, weights = zip(*parts, strict=True)
    mixture = CorpusMixture.by_weight(sizes, weights)
    assert all(abs(taken - sum(sizes) * w / sum(weights)) <= 1 for taken, w in zip(mixture.taken, weights, strict=True))
    counts = Counter(mixture.draw(np.random.default_rng(seed)).tolist())
    first = 0
    for size, taken in zip(sizes, mixture.taken, strict=True):
        found = [counts[row] for row in range(first, first + size)]
        assert sum(found) == taken
        assert max(found) - min(found) <= 1
        first += size
    assert counts.total() == sum(mixture.taken)


def test_the_plan_follows_from_seed_and_epoch_and_a_part_is_drawn_anew() -> None:
    mixture = CorpusMixture.by_weight([100, 20], [1, 2])
    first, again, next_epoch = (rows_of(mixture, epoch, 120) for epoch in (0, 0, 1))
    assert first.tolist() == again.tolist()
    chosen, other = (set(rows[rows < 100].tolist()) for rows in (first, next_epoch))
    assert len(chosen) == len(other) == 40
    assert chosen != other
    assert (first >= 100).sum() == 80


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_versions_of_the_pairs_take_turns(epoch: int) -> None:
    mixture = CorpusMixture.by_weight([10, 20], [1, 1])
    rows = rows_of(mixture, epoch, 30, versions=3)
    assert len(rows) == 30
    assert set(rows // 30) == {epoch}
    assert ((rows - 30 * epoch) < 10).sum() == 15
