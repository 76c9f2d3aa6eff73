"""Batches: every pair once, within the budget, well filled, and a function of (seed, epoch) alone."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openwork.base.files import read_lines
from openwork.data.batching import BatchPlan, BatchSettings, assemble
from openwork.data.store import TokenStore, write_store

LENGTHS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60)


def plan_of(lengths: list[tuple[int, int]], tokens: int, seed: int = 3) -> BatchPlan:
    pairs = np.array(lengths, dtype=np.int32).reshape(-1, 2)
    return BatchPlan(pairs[:, 0], pairs[:, 1], BatchSettings(tokens=tokens), seed)


def natural_lengths(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths as real sentences have them: mean 15, spread 5, sides correlated."""
    generator = np.random.default_rng(11)
    source = np.maximum(generator.gamma(9.0, 1.6, pairs), 2).round()
    target = np.maximum(source + generator.normal(0, 2.7, pairs), 2).round()
    return source.astype(np.int32), target.astype(np.int32)


def fill(plan: Sequence[np.ndarray], source: np.ndarray, target: np.ndarray) -> float:
    real = padded = 0
    for rows in plan:
        for lengths in (source[rows] + 1, target[rows] + 1):
            real += int(lengths.sum())
            padded += int(lengths.max()) * len(rows)
    return real / padded


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(lengths=LENGTHS, tokens=st.integers(1, 200), epoch=st.integers(0, 5))
def test_every_pair_comes_once_and_the_budget_holds(lengths: list[tuple[int, int]], tokens: int, epoch: int) -> None:
    plan = plan_of(lengths, tokens).epoch(epoch)
    batches = list(plan)
    assert len(batches) == len(plan)
    assert sorted(np.concatenate([*batches, np.empty(0, np.int64)]).astype(int).tolist()) == list(range(len(lengths)))
    for rows in batches:
        longest = max(max(lengths[row]) + 1 for row in rows)
        assert len(rows) == 1 or longest * len(rows) <= tokens


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(lengths=LENGTHS, seed=st.integers(0, 2**40))
def test_a_plan_follows_from_seed_and_epoch(lengths: list[tuple[int, int]], seed: int) -> None:
    first, again = plan_of(lengths, 100, seed), plan_of(lengths, 100, seed)
    again.epoch(0)  # an earlier epoch leaves no trace
    for left, right in zip(first.epoch(2), again.epoch(2), strict=True):
        assert left.tolist() == right.tolist()


def test_a_batch_can_be_had_without_its_predecessors() -> None:
    plan = BatchPlan(*natural_lengths(1000), BatchSettings(tokens=500), 1).epoch(0)
    assert plan[17].tolist() == list(plan)[17].tolist()
    assert plan[-1].tolist() == plan[len(plan) - 1].tolist()
    with pytest.raises(IndexError):
        plan[len(plan)]


def test_epochs_and_seeds_differ_in_company_and_order() -> None:
    source, target = natural_lengths(10_000)
    plan = BatchPlan(source, target, BatchSettings(), 1)
    groups = []
    for epoch in (plan.epoch(0), plan.epoch(1), BatchPlan(source, target, BatchSettings(), 2).epoch(0)):
        group = np.empty(10_000, np.int64)
        for number, rows in enumerate(epoch):
            group[rows] = number
        groups.append(group)
    pairs = [rows[:2] for rows in plan.epoch(0) if len(rows) > 1]
    for other in groups[1:]:
        assert np.mean([other[left] == other[right] for left, right in pairs]) < 0.7
    # The order of lengths is shuffled too: neighbours in time are no neighbours in length.
    means = np.array([source[rows].mean() for rows in plan.epoch(0)])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.5


@pytest.mark.parametrize(("tokens", "least"), [(2048, 0.95), (4096, 0.94), (8192, 0.93)])
def test_more_than_nine_tenths_of_the_tokens_are_real(tokens: int, least: float) -> None:
    source, target = natural_lengths(29_000)
    for epoch in range(2):
        assert fill(BatchPlan(source, target, BatchSettings(tokens=tokens), 1).epoch(epoch), source, target) >= least


@pytest.mark.slow
def test_nine_tenths_are_real_on_multi30k(openwork_data: Callable[[str], Path]) -> None:
    folder = openwork_data("multi30k")
    # Words and punctuation stand in for the pieces of a tokenizer, with nearly the same lengths.
    split = re.compile(r"\w+|\S")
    source, target = (
        np.array([len(split.findall(line)) for line in read_lines(folder / f"train.{language}.gz")])
        for language in ("en", "de")
    )
    assert fill(BatchPlan(source, target, BatchSettings(tokens=4096), 1).epoch(0), source, target) >= 0.9


@pytest.mark.slow
def test_a_million_pairs_are_planned_once_each() -> None:
    source, target = natural_lengths(1_000_000)
    rows = np.concatenate(list(BatchPlan(source, target, BatchSettings(), 1).epoch(0)))
    assert np.array_equal(np.sort(rows), np.arange(1_000_000))


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return write_store(tmp_path / "store", [([5, 6], [7]), ([], [8, 9, 10]), ([11], [])], vocabulary_size=20)


def test_a_batch_worked_by_hand(store: TokenStore) -> None:
    batch = assemble(store, np.array([1, 0]))
    assert batch.source.tolist() == [[3, 0, 0], [5, 6, 3]]
    assert batch.source_lengths.tolist() == [1, 3]
    assert batch.target_input.tolist() == [[2, 8, 9, 10], [2, 7, 0, 0]]
    assert batch.target_output.tolist() == [[8, 9, 10, 3], [7, 3, 0, 0]]
    assert batch.target_lengths.tolist() == [4, 2]
    assert (batch.source_lengths.sum() + batch.target_lengths.sum(), batch.source.size + batch.target_output.size) == (
        10,
        14,
    )
    assert len(batch) == 2
    assert batch.rows.tolist() == [1, 0]
    assert batch.source.dtype == batch.target_input.dtype == batch.target_output.dtype == np.int64


def test_a_batch_of_blank_lines_still_has_its_end(store: TokenStore) -> None:
    batch = assemble(store, np.array([2]))
    assert (batch.target_input.tolist(), batch.target_output.tolist()) == ([[2]], [[3]])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    pairs=st.lists(st.tuples(*[st.lists(st.integers(4, 99), max_size=7)] * 2), min_size=1, max_size=12),
    tokens=st.integers(1, 60),
)
def test_assembled_batches_hold_the_stored_pairs(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[list[int], list[int]]], tokens: int
) -> None:
    store = write_store(tmp_path_factory.mktemp("batches") / "store", pairs, vocabulary_size=100)
    for rows in BatchPlan.of(store, BatchSettings(tokens=tokens), 0).epoch(0):
        batch = assemble(store, rows)
        for place, row in enumerate(rows):
            source, target = pairs[row]
            source_padding = [0] * (batch.source.shape[1] - len(source) - 1)
            target_padding = [0] * (batch.target_output.shape[1] - len(target) - 1)
            assert batch.source[place].tolist() == [*source, 3, *source_padding]
            assert batch.target_input[place].tolist() == [2, *target, *target_padding]
            assert batch.target_output[place].tolist() == [*target, 3, *target_padding]
