"""A corpus too large to be sorted at once: the same promises as for a small one, window by window."""

import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from openwork.data import batching
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.store import StoredLengths, write_store


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "WINDOW", 100)


def plan_of(pairs: int, seed: int = 1, versions: int = 1) -> BatchPlan:
    lengths = np.random.default_rng(7).integers(1, 30, (pairs * versions, 2))
    return BatchPlan(lengths[:, 0], lengths[:, 1], BatchSettings(tokens=120), seed, versions)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(pairs=st.integers(101, 900), seed=st.integers(0, 2**40), epoch=st.integers(0, 3))
def test_every_pair_comes_once_in_every_epoch(pairs: int, seed: int, epoch: int) -> None:
    plan = plan_of(pairs, seed).epoch(epoch)
    assert isinstance(plan, batching.Windows)
    batches = list(plan)
    assert len(batches) == len(plan)
    assert sorted(np.concatenate(batches).tolist()) == list(range(pairs))


def test_any_batch_is_had_without_its_predecessors() -> None:
    plan = plan_of(777).epoch(2)
    in_order = [rows.tolist() for rows in plan]
    places = np.random.default_rng(3).permutation(len(plan)).tolist()
    again = plan_of(777).epoch(2)
    assert {place: again[place].tolist() for place in places} == dict(enumerate(in_order))
    assert again[-1].tolist() == in_order[-1]
    with pytest.raises(IndexError):
        again[len(plan)]


def test_a_window_takes_its_pairs_from_all_over_the_corpus() -> None:
    plan = plan_of(1000).epoch(0)
    assert isinstance(plan, batching.Windows)
    for first, end in pairwise([0, *plan._ends.tolist()]):
        rows = np.concatenate([plan[place] for place in range(first, end)])
        assert len(rows) == 100
        tenths = np.bincount(rows // 100, minlength=10)
        assert tenths.min() >= 1 and tenths.max() <= 40


@pytest.mark.parametrize("pairs", [10, 10**10])
def test_rows_are_those_of_unbounded_integers(pairs: int) -> None:
    """Of 10^10 pairs, a factor times a place has 67 bits: more than an int64 holds."""
    factor, shift = pairs - 1, pairs - 3
    for start, stop in ((0, 5), (pairs - 5, pairs)):
        rows = batching.spread_rows(factor, shift, pairs, start, stop)
        assert rows.tolist() == [(factor * place + shift) % pairs for place in range(start, stop)]


def test_epochs_and_seeds_differ() -> None:
    orders = {
        tuple(np.concatenate(list(plan_of(500, seed).epoch(epoch))).tolist()) for seed in (1, 2) for epoch in (0, 1)
    }
    assert len(orders) == 4


def test_versions_take_turns() -> None:
    plan = plan_of(300, versions=2)
    for epoch, first in ((0, 0), (1, 300), (2, 0)):
        assert sorted(np.concatenate(list(plan.epoch(epoch))).tolist()) == list(range(first, first + 300))


def test_batches_are_filled_nearly_as_well_as_with_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def padded() -> int:
        lengths = np.random.default_rng(7).integers(1, 30, (20_000, 1)) + np.array([0, 1])
        plan = BatchPlan(lengths[:, 0], lengths[:, 1], BatchSettings(tokens=500), 1).epoch(0)
        return sum(int((lengths[rows].max(axis=0) + 1).sum()) * len(rows) for rows in plan)

    monkeypatch.setattr(batching, "WINDOW", 2_000)
    in_windows = padded()
    monkeypatch.setattr(batching, "WINDOW", 1 << 20)
    assert in_windows < 1.03 * padded()


def test_lengths_come_from_the_store(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [([5, 6], [7]), ([], [8, 9, 10]), ([11], [])], vocabulary_size=20)
    for side in (store.source, store.target):
        lengths = StoredLengths(side)
        assert len(lengths) == 3 and lengths[np.array([2, 0, 1])].tolist() == side.lengths[[2, 0, 1]].tolist()


def test_memory_does_not_grow_with_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "WINDOW", 1_000)

    class Lengths:
        """Of as many pairs as one likes, none of them in memory."""

        def __init__(self, pairs: int) -> None:
            self.pairs = pairs

        def __len__(self) -> int:
            return self.pairs

        def __getitem__(self, rows: np.ndarray) -> np.ndarray:
            return rows % 23 + 1

    def peak(pairs: int) -> int:
        lengths = Lengths(pairs)
        tracemalloc.start()
        plan = BatchPlan(lengths, lengths, BatchSettings(tokens=1000), 1).epoch(0)
        assert len(plan[len(plan) // 2])
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory

    assert peak(100_000) < 1.3 * peak(10_000)


def test_each_window_is_shuffled_in_its_own_way() -> None:
    """The same shuffle for all would bring the pairs of each window in the same order of their places."""
    orders = []

    def note(rows: NDArray[np.int64], generator: np.random.Generator) -> list[NDArray[np.int64]]:
        orders.append((rows, generator.random()))
        return [rows]

    plan = batching.Windows(400, [7, 0], note)  # type: ignore[arg-type]
    assert len(plan) == 4 and len(orders) == 4
    places = (np.arange(400) * plan._factor + plan._shift) % 400
    shuffles = {tuple(np.argsort(places)[rows] - 100 * window) for window, (rows, _) in enumerate(orders)}
    assert len(shuffles) == 4
    assert len({number for _, number in orders}) == 4  # what is drawn afterwards, such as the order of batches
    assert all(sorted(shuffle) == list(range(100)) for shuffle in shuffles)
