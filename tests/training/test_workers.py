"""Several threads compute one update: the same sentences, the same sums, in a fixed order."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.batching import assemble
from openwork.data.store import TokenStore
from openwork.machine import available
from openwork.machine import workers as workers_module
from openwork.machine.workers import (
    FEWEST_SINGLE,
    GOOD_TOKENS,
    LEAST_TOKENS,
    OBSERVED,
    Load,
    Workers,
    choose_threads,
    choose_workers,
    threads_for,
    using_threads,
)
from openwork.models.families import ModelSettings
from openwork.models.recurrent_settings import RecurrentLabelsSettings, RecurrentSettings
from openwork.models.weights import model_weights
from openwork.nn.dropout import Dropout, drawing_from
from openwork.training.batches.batch import to_tensors
from openwork.training.loss import batch_loss
from openwork.training.progress import Progress
from training.tiny import CPU, MODEL, RECURRENT, SETTINGS, make_store, make_training


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def test_results_come_in_the_order_of_the_items_and_threads_are_divided() -> None:
    whole = torch.get_num_threads()
    workers = Workers(3)
    gate = threading.Barrier(3)

    def task(item: int) -> tuple[int, int]:
        gate.wait(timeout=1500)  # three at the same time, or never
        return item, torch.get_num_threads()

    assert workers.map(task, [4, 5, 6]) == [(item, max(1, whole // 3)) for item in (4, 5, 6)]
    assert torch.get_num_threads() == whole


def test_an_error_of_a_part_is_raised_and_the_threads_are_given_back() -> None:
    whole, workers = torch.get_num_threads(), Workers(2)

    def task(item: int) -> float:
        return 1 / item

    with pytest.raises(ZeroDivisionError):
        workers.map(task, [1, 0])
    assert workers.map(task, [1, 2]) == [1.0, 0.5] and torch.get_num_threads() == whole


def set_busy(monkeypatch: pytest.MonkeyPatch, *busy: float) -> None:
    """So many percent of each core are other programs'."""
    monkeypatch.setattr(available.os, "sched_getaffinity", lambda _: set(range(len(busy))), raising=False)
    monkeypatch.setattr(available.psutil, "cpu_percent", lambda interval, percpu: list(busy))


def test_as_many_as_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    set_busy(monkeypatch, 0, 0, 0, 0)
    with using_threads(4):
        assert choose_workers(None, 4 * LEAST_TOKENS, CPU) == 4
        assert choose_workers(None, 3 * LEAST_TOKENS, CPU) == 3
        assert [choose_workers(None, tokens, CPU) for tokens in (1023, 1024)] == [1, 2]
        assert choose_workers(None, 1, CPU) == 1
        assert choose_workers(7, 1, CPU) == 7
        assert choose_workers(None, 8 * LEAST_TOKENS, torch.device("cuda")) == 1


def test_one_thread_computes_what_several_would_not_compute_faster() -> None:
    assert threads_for(1024, 64, CPU) == 1
    assert threads_for(1024, 128, CPU) is None and threads_for(2048, 64, CPU) is None
    assert threads_for(1024, 64, torch.device("cuda")) is None and threads_for(1024, 64, CPU, processes=2) is None


def test_on_a_busy_machine_those_with_good_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    set_busy(monkeypatch, 100, 100, 0, 100)
    with using_threads(4):
        assert [choose_workers(None, count * GOOD_TOKENS, CPU) for count in (1, 2, 3, 4)] == [1, 2, 3, 4]
    set_busy(monkeypatch, 100, 0, 0, 100)
    with using_threads(4):
        assert [choose_workers(None, count * LEAST_TOKENS, CPU) for count in (1, 2, 4, 6)] == [1, 2, 2, 3]


class Clocks:
    """A call takes half a second on the clock, and each part as many seconds of its thread as `computing` says."""

    def __init__(self) -> None:
        self.now, self.computing, self._own = 0.0, 0.0, threading.local()

    def perf_counter(self) -> float:
        self.now += 0.5
        return self.now

    def thread_time(self) -> float:
        self._own.seconds = getattr(self._own, "seconds", 0.0) + self.computing
        return self._own.seconds


def test_one_by_one_where_that_takes_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of a fifth of a second each take half a second at once: one by one, 0.4 s."""
    clocks, calling = Clocks(), threading.get_ident()
    monkeypatch.setattr(workers_module, "time", clocks)
    ways = []
    with using_threads(2):
        workers = Workers(2)
        for call in range(200):
            clocks.computing = 0.2 if call < 100 else 0.3
            threads = workers.map(lambda item: threading.get_ident(), [1, 2])
            ways.append(threads == [calling, calling])
    first, second = OBSERVED, OBSERVED + FEWEST_SINGLE - 1
    assert ways[:second] == [False] * first + [True] * (FEWEST_SINGLE - 1)
    assert ways[second : second + OBSERVED] == [False] * OBSERVED  # tried again: no better
    assert all(ways[second + OBSERVED : 100])  # for twice as long now
    assert not any(ways[-50:])  # once it was better, it stays


def test_at_once_or_one_by_one_changes_no_bit(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, found = SETTINGS.model_copy(update={"workers": 2, "steps": 4}), []
    for ways in ([True] * 4, [False] * 4, [True, False, False, True]):
        taken = iter(ways)
        monkeypatch.setattr(Load, "at_once", lambda _, taken=taken: next(taken))
        with using_threads(2):
            training = make_training(store, settings)
            training.go(settings, Progress())
        assert next(taken, None) is None  # each update asked
        found.append(model_weights(training.model))
    assert all(torch.equal(weight, other[name]) for other in found[1:] for name, weight in found[0].items())


@given(st.lists(st.integers(0, 19), min_size=1, max_size=9, unique=True), st.integers(1, 5))
def test_each_sentence_is_in_one_part(store: TokenStore, rows: list[int], count: int) -> None:
    batch = to_tensors(assemble(store, np.array(rows)), CPU)
    parts = batch.parts(count)
    assert len(parts) == min(count, len(rows))
    for first, part in enumerate(parts):
        alone = to_tensors(assemble(store, np.array(rows[first :: len(parts)])), CPU)
        for name in ("source", "source_lengths", "target_input", "real", "real_targets"):
            assert torch.equal(getattr(part, name), getattr(alone, name)), name
        assert (part.sentences, part.source_tokens) == (alone.sentences, alone.source_tokens)


def test_the_losses_of_parts_add_up(store: TokenStore) -> None:
    model = make_training(store).model.eval()
    batch = to_tensors(assemble(store, np.arange(9)), CPU)
    whole = batch_loss(model, batch, 0.1, "float32")
    parts = [batch_loss(model, part, 0.1, "float32") for part in batch.parts(2)]
    assert sum(part.tokens for part in parts) == whole.tokens
    torch.testing.assert_close(torch.stack([part.smoothed for part in parts]).sum(), whole.smoothed)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_any_number_of_workers_makes_the_same_update(store: TokenStore, precision: str) -> None:
    still = MODEL.model_copy(update={"dropout": 0.0})
    found = []
    for workers in (1, 2, 3):
        settings = SETTINGS.model_copy(update={"workers": workers, "precision": precision, "steps": 1})
        training = make_training(store, settings, still)
        training.go(settings, Progress())
        found.append(training.optimiser.state_dict()["state"])
    for other in found[1:]:
        for place, state in found[0].items():
            difference = (state["exp_avg"] - other[place]["exp_avg"]).norm()
            rounding = 1e-5 if precision == "float32" else 2e-2
            assert difference <= rounding * state["exp_avg"].norm() + 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "workers"),
    [
        (MODEL, 2),
        (RecurrentSettings(width=6, cell="gru", attention="general", tying="three-way"), 2),
        (RecurrentLabelsSettings(width=6), 2),
        (RECURRENT, 1),  # the framework's stacks draw the dropout between their layers, and know one generator
        (RecurrentLabelsSettings(width=6, layers=2), 1),
        (RecurrentLabelsSettings(width=6, layers=2, dropout=0.0), 2),
    ],
    ids=lambda value: str(getattr(value, "kind", value)),
)
def test_dropout_follows_from_seed_and_part(store: TokenStore, family: ModelSettings, workers: int) -> None:
    """Twice the same, however the threads take turns; and each part has its own."""
    settings = SETTINGS.model_copy(update={"workers": 2, "steps": 3})
    found = []
    for _ in range(2):
        training = make_training(store, settings, family)
        assert training.updater.workers.count == workers
        training.go(settings, Progress())
        found.append(model_weights(training.model))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_a_thread_draws_from_the_generator_that_it_was_given() -> None:
    dropout, x = Dropout(0.5), torch.ones(40)
    torch.manual_seed(1)
    plain = dropout(x)
    with drawing_from(torch.Generator().manual_seed(1)):
        torch.manual_seed(2)
        own = dropout(x)
        with drawing_from(torch.Generator().manual_seed(3)):
            other = dropout(x)
    torch.manual_seed(1)
    again = dropout(x)  # outside, the process's own again
    assert torch.equal(plain, own) and torch.equal(plain, again) and not torch.equal(plain, other)


def test_one_worker_is_the_calling_thread() -> None:
    before, workers = threading.active_count(), Workers(1)
    assert workers.map(lambda item: item, [1, 2]) == [1, 2] and threading.active_count() == before


@pytest.mark.parametrize("optimiser", ["adam", "adamw", "sgd", "adagrad"])
def test_who_keeps_something_made_of_the_weights_sees_an_update(store: TokenStore, optimiser: str) -> None:
    """Prepared models are made anew by this count, and the framework's fused optimisers leave it as it was."""
    settings = SETTINGS.model_copy(update={"optimiser": optimiser, "steps": 1})
    training = make_training(store, settings)
    before = [weight._version for weight in training.model.parameters()]
    training.go(settings, Progress())
    assert all(weight._version > was for weight, was in zip(training.model.parameters(), before, strict=True))


def test_threads_that_share_a_part_are_those_whose_cores_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    for busy, free in (([0, 0, 0], 3), ([100, 0, 10], 2), ([60, 0, 0], 2), ([100] * 3, 1)):
        set_busy(monkeypatch, *busy)
        with using_threads(4):
            assert choose_threads(None, CPU) == free
            assert choose_threads(None, CPU, workers=3) == max(free, 3)
            assert choose_threads(None, CPU, workers=4) == 4  # each has a thread of its own, and waits once an update
        with using_threads(1):
            assert choose_threads(None, CPU) == 1
    assert choose_threads(3, CPU) == 3
    assert choose_threads(None, CPU, processes=2) is None
    assert choose_threads(None, torch.device("cuda")) is None
