"""The simulator of many processes against plans worked by hand and against real batches, and the page of figures."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scale import gloo, sizes
from scale.__main__ import main
from scale.computing import ComputingTime, fit, work_of
from scale.page import PAGES, render
from scale.replay import PartShape, Update, dealt_out, simulate, updates_of

from benchmarks.figures import REPOSITORY, figures
from journeys.command import TINY
from openwork.cost.communication import Network, Traffic
from openwork.data.batching import BatchPlan, BatchSettings, assemble
from openwork.data.store import TokenStore, write_store


class HandMade(BatchPlan):
    """A plan whose batches are given."""

    batches: Sequence[NDArray[np.int64]] = (np.array([0, 1, 2, 3, 4]), np.array([5]))

    def epoch(self, number: int) -> Sequence[NDArray[np.int64]]:
        return self.batches


SOURCE, TARGET = np.array([9, 4, 8, 5, 7, 3]), np.array([1, 6, 2, 5, 3, 4])
BY_HAND = HandMade(SOURCE, TARGET, BatchSettings(), 1)


def test_shares_by_hand() -> None:
    """Five sentences for two processes: 0, 2, 4 and 1, 3; one end symbol on each side. The second batch has one."""
    first, second, third = islice(updates_of(BY_HAND, 2), 3)
    assert first == ((PartShape(3, 10, 4),), (PartShape(2, 6, 7),))
    assert second == ((PartShape(1, 4, 5),), ())
    assert third == first  # the second epoch


def test_workers_and_accumulated_batches_by_hand() -> None:
    """Two workers of each process, and both batches in one update."""
    (update,) = islice(updates_of(BY_HAND, 2, workers=2, accumulate=2), 1)
    zero, one = update
    assert zero == (PartShape(2, 10, 4), PartShape(1, 9, 3), PartShape(1, 4, 5))  # 0 and 4; 2; and 5
    assert one == (PartShape(1, 5, 7), PartShape(1, 6, 6))
    assert [rows.tolist() for rows in dealt_out(np.array([7, 8, 9]), 5)] == [[7], [8], [9]]


def test_time_by_hand() -> None:
    """A second for each target position. The slower process has 14 and 5; a message of 60 bytes takes 1 + 60 / 30."""
    updates = list(islice(updates_of(BY_HAND, 2), 2))
    network = Network(bandwidth=30.0, latency=0.5, trees=False)
    found = simulate(updates, lambda update: sum(p.sentences * p.target for p in update), SIXTY, network)
    assert found.computing == (14, 5) and found.mean_computing == (13, 2.5) and found.waiting == (3, 3)
    assert found.updates_per_second == 2 / 25 and found.imbalance == 19 / 15.5
    alone = simulate(list(islice(updates_of(BY_HAND, 1), 2)), lambda update: 10.0, SIXTY, network)
    assert alone.updates_per_second == 1 / 10 and alone.waiting == (0, 0)


SIXTY = (Traffic("all-reduce", 60, 1),)


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 30, (400, 2))
    pairs = (([9] * int(source), [9] * int(target)) for source, target in lengths)
    return write_store(tmp_path / "store", pairs, vocabulary_size=20)


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "workers"), [(1, 1), (2, 1), (3, 2), (4, 4)])
def test_shares_are_those_of_a_real_training(store: TokenStore, processes: int, workers: int) -> None:
    """The tensors that are computed have the shapes that are replayed, and hold every sentence once."""
    import torch

    from openwork.training.batches.batch import to_tensors

    plan = BatchPlan.of(store, BatchSettings(tokens=200), seed=3)
    updates = updates_of(plan, processes, workers)
    for rows in plan.epoch(0):
        replayed = next(updates)
        for rank, update in enumerate(replayed):
            share = rows[rank::processes]
            parts = to_tensors(assemble(store, share), torch.device("cpu")).parts(workers) if len(share) else []
            shapes = [PartShape(p.sentences, p.source.shape[1], p.target_input.shape[1]) for p in parts]
            assert tuple(shapes) == update
        assert sum(part.sentences for update in replayed for part in update) == len(rows)


def test_the_time_is_that_of_clocks_that_wait(store: TokenStore) -> None:
    """Each process has a clock; at the end of an update all are set to the latest and go on after the messages."""
    plan = BatchPlan.of(store, BatchSettings(tokens=150), seed=1)
    updates = list(islice(updates_of(plan, 3), 30))
    seconds = ComputingTime((0.01, 1e-4, 2e-4, 1e-6), slowdown=1.5)
    network = Network(bandwidth=1e3, latency=1e-3, trees=False)
    clocks = [0.0] * 3
    for update in updates:
        latest = max(clock + seconds(share) for clock, share in zip(clocks, update, strict=True))
        clocks = [latest + 4 * 1e-3 + 2 * 2 / 3 * 60 / 1e3] * 3
    assert simulate(updates, seconds, SIXTY, network).updates_per_second == pytest.approx(30 / clocks[0])


def test_rates_are_found_again(store: TokenStore) -> None:
    plan = BatchPlan.of(store, BatchSettings(tokens=150), seed=1)
    updates = [update[0] for update in islice(updates_of(plan, 1), 60)]
    known = ComputingTime((0.02, 3e-5, 1e-4, 2e-7))
    found = fit(updates, [known(update) for update in updates])
    assert found.rates == pytest.approx(known.rates)
    doubled = ComputingTime(found.rates, slowdown=2)
    assert doubled(updates[0]) == pytest.approx(2 * known(updates[0]))


def test_no_rate_is_negative() -> None:
    """Seconds that fall with the source positions: these are left out."""
    updates: list[Update] = [(PartShape(1, source, 10),) for source in (5, 10, 20)]
    found = fit(updates, [3.0, 2.9, 2.7])
    assert min(found.rates) >= 0 and work_of(updates[0]) == (1, 5, 10, 25 + 50 + 100)
    assert all(found(update) == pytest.approx(2.85, rel=0.1) for update in updates)


def test_a_network_is_found_again() -> None:
    network = Network(bandwidth=2e9, latency=5e-5, trees=False)
    times = {size: Traffic("all-reduce", size, 1).seconds(network, 4) for size in gloo.SIZES}
    found = gloo.fit(times, 4)
    assert (found.bandwidth, found.latency) == pytest.approx((2e9, 5e-5))


@pytest.mark.slow
def test_gloo_is_measured() -> None:
    found = gloo.measure(2, sizes=(1 << 12, 1 << 20), repeats=3)
    assert set(found) == {1 << 12, 1 << 20} and min(found.values()) > 0
    assert gloo.fit(found, 2).bandwidth > 0


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("processes", [(1,), (1, 2)])
def test_the_driver_trains_and_compares(
    processes: tuple[int, ...], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scale.__main__.SIZES", (1, 2))  # each size is a training in a process of its own
    run, out = tmp_path / "run.toml", tmp_path / "results.json"
    run.write_text(TINY)
    out.write_text('{"other": 1}')
    counts = [str(one) for one in processes]
    main([str(run), "--processes", *counts, "--predict", "64", "--updates", "12", "--out", str(out)])
    found = json.loads(out.read_text())
    assert found["other"] == 1 and found["simulator"]["updates"] == 12
    rows = found["simulator"]["processes"]
    assert [row["processes"] for row in rows] == [*processes, 64]
    for row in rows[:-1]:
        error = row["predicted_updates_per_second"] / row["measured_updates_per_second"] - 1
        assert row["error"] == pytest.approx(error)
    assert "error" not in rows[-1] and rows[0]["imbalance"] == 1
    assert 1 - 1e-9 <= rows[-1]["imbalance"] <= 64  # 1 where a busy machine hides what a token costs


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_written_again(page: str) -> None:
    """docs/scale.md and its twin: PYTHONPATH=benchmarks python -m scale.page"""
    assert (REPOSITORY / "docs" / page).read_text("utf-8") == render(page)


@pytest.mark.slow
def test_both_languages_have_the_same_figures() -> None:
    ours, theirs = (Counter(figure.value for figure in figures(render(page))) for page in PAGES)
    assert ours == theirs and len(ours) > 100


def test_the_size_of_a_store_is_that_of_one_that_is_written(tmp_path: Path) -> None:
    pairs = 50
    sentence = [7] * (sizes.LENGTH - 1)
    folder = write_store(tmp_path / "store", [(sentence, sentence)] * pairs, vocabulary_size=37_000).folder
    written = sum(path.stat().st_size for path in folder.iterdir() if path.name != "header.json")
    formula = sizes.CORPORA[0].store_bytes / sizes.CORPORA[0].pairs
    assert written == formula * pairs + 2 * 8  # an offset more than there are sentences, on both sides


@pytest.mark.slow
def test_a_checkpoint_is_as_large_as_one_that_is_written(tmp_path: Path) -> None:
    """Weights and two moments in float32: of a small model, with the few bytes of its files' headers."""
    import torch

    from openwork.models.build import build_model
    from openwork.models.families import model_settings
    from openwork.models.interfaces import count_weights
    from openwork.training.optimisers import make_optimiser
    from openwork.training.progress import Progress
    from openwork.training.settings import TrainingSettings
    from training.tiny import save_checkpoint

    model = build_model(model_settings({"kind": "transformer", "width": 64, "heads": 2}), 500, 500)
    optimiser = make_optimiser(model, TrainingSettings())
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimiser.step()
    folder = save_checkpoint(tmp_path, model, optimiser, Progress(step=1))
    written = sum(path.stat().st_size for path in folder.iterdir())
    assert written == pytest.approx(12 * count_weights(model), rel=0.05)


def test_failures_and_intervals_by_hand() -> None:
    """1,024 devices fail every 49.5 hours; 2.06 seconds of writing, so every sqrt(2 x 2.06 x 49.5 x 3600) seconds."""
    case = sizes.Case(sizes.CORPORA[1], 1024)
    assert case.hours_between_failures == pytest.approx(49.5, abs=0.05)
    assert case.checkpoint_seconds == pytest.approx(12 * 214_171_648 / 1.25e9)
    assert case.interval * 3600 == pytest.approx((2 * case.checkpoint_seconds * 49.5 * 3600) ** 0.5, rel=1e-3)
    assert case.failures == pytest.approx(case.hours / 49.5, rel=1e-3)


def test_the_answers_answer() -> None:
    """With so many tokens waiting takes a fifth of the time; with so many devices too; on such a disk reading fits."""
    case = sizes.Case(sizes.CORPORA[0], 64)
    tokens = case.tokens_answer
    assert tokens is not None
    update = case.plan.update
    computing = update.computing * tokens / case.corpus.tokens
    assert update.exposed / (update.exposed + computing) == pytest.approx(sizes.TOLERABLE, abs=0.005)
    for corpus in sizes.CORPORA:
        devices = sizes.most_devices(corpus, sizes.FAST)
        assert sizes.waiting_share(sizes.fastest(corpus, devices, sizes.FAST)) <= sizes.TOLERABLE
        more = sizes.fastest(corpus, 2 * devices, sizes.FAST)
        assert sizes.waiting_share(more) > sizes.TOLERABLE
    large = sizes.Case(sizes.CORPORA[2], 1024)
    assert large.read_bytes / large.disk_answer == pytest.approx(large.hours * 3600)
    assert all(case.plan.memory.total <= sizes.MEMORY for case in sizes.CASES)
