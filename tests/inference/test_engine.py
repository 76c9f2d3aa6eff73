"""What a translator computes with, and searches side by side."""

import os
import threading
from typing import Any

import pytest
import torch

from openwork.base.errors import UsageError
from openwork.decoding.ensemble import Ensemble
from openwork.inference import engine as engine_module
from openwork.inference.engine import Engine
from openwork.inference.prepared import types_of
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.machine.device import has_narrow_kernels
from openwork.machine.workers import Workers, one_thread
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.training.batches.batch import TensorBatch
from openwork.training.optimisers import make_optimiser
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater

SMALL = TransformerSettings(width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=1)


def model(settings: Any = SMALL) -> SequenceModel[Any]:
    torch.manual_seed(1)
    return build_model(settings, 20, 20).eval()


def logits(engine: Engine) -> torch.Tensor:
    ready = engine.ready()
    with torch.inference_mode(), engine.computing():
        state = ready.start(torch.tensor([[5, 6, 3]]), torch.tensor([3]))
        return ready.step(torch.tensor([[2]]), state)[0]


def test_weights_that_change_are_prepared_anew() -> None:
    changing = model()
    engine = Engine(changing, "float32")
    first = engine.ready()
    assert isinstance(first, PreparedTransformer) and engine.ready() is first
    before = logits(engine)
    with torch.no_grad():
        changing.output_weight.mul_(2.0)
    assert engine.ready() is not first and not torch.allclose(logits(engine), before)
    torch.testing.assert_close(logits(engine), logits(Engine(changing, "float32")))


def test_a_table_of_positions_that_grows_is_no_change() -> None:
    growing = model()
    engine = Engine(growing, "float32")
    first = engine.ready()
    longest = torch.full((1, 600), 5)  # the table begins with fewer
    growing.start(longest, torch.tensor([600]))
    assert engine.ready() is first


@pytest.mark.slow
def test_enough_batches_are_shared_by_processes_and_few_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def where(number: int) -> tuple[int, bool]:
        return number, os.getpid() == here

    here, engine = os.getpid(), Engine(model(), "float32")
    monkeypatch.setattr(engine_module, "can_be_copied", lambda: True)
    before = torch.get_num_threads()
    try:
        for threads, batches, in_threads in ((2, 16, True), (2, 17, False), (1, 50, True)):
            torch.set_num_threads(threads)
            found = list(engine.in_turn(where, range(batches)))
            assert found == [(number, in_threads) for number in range(batches)]
        monkeypatch.setattr(engine_module, "can_be_copied", lambda: False)
        assert all(is_here for _, is_here in engine.in_turn(where, range(50)))
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_an_ensemble_is_prepared_member_by_member() -> None:
    members = [model(), model(SMALL.model_copy(update={"norm": "pre"}))]
    engine = Engine(Ensemble(members), "float32")
    ready = engine.ready()
    assert isinstance(ready, Ensemble) and all(isinstance(one, PreparedTransformer) for one in ready.members)
    with torch.inference_mode():
        together = Ensemble(members)
        state = together.start(torch.tensor([[5, 6, 3]]), torch.tensor([3]))
        expected, _ = together.step(torch.tensor([[2]]), state)
    torch.testing.assert_close(logits(engine), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_what_cannot_be_prepared_computes_as_it_is() -> None:
    recurrent = model(RecurrentSettings(width=8))
    for precision in ("float32", "bfloat16", "auto"):
        engine = Engine(recurrent, precision)
        assert engine.ready() is recurrent and logits(engine).shape == (1, 1, 20)
    with pytest.raises(UsageError, match="eight bits"):
        Engine(recurrent, "int8")
    mixed = Ensemble([recurrent, model()])
    assert Engine(mixed, "float32").ready() is mixed


def test_eight_bits_are_for_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "device", torch.device("cuda"))
    with pytest.raises(UsageError, match="on a GPU") as refused:
        Engine(model(), "int8")
    assert refused.value.code == "U183" and "float16" in refused.value.hint


@pytest.mark.parametrize("has", [False, has_narrow_kernels()])
def test_bfloat16_is_not_packed_where_the_processor_cannot(monkeypatch: pytest.MonkeyPatch, has: bool) -> None:
    """The framework's packing breaks off there; its other kernels compute."""
    monkeypatch.setattr(engine_module, "has_narrow_kernels", lambda: has)
    whole = model()
    engine = Engine(whole, "bfloat16")
    assert (engine.ready() is whole) != has
    torch.testing.assert_close(logits(engine).float(), logits(Engine(whole, "float32")), rtol=0.05, atol=0.05)


def test_auto_is_one_of_those_that_are_there() -> None:
    assert Engine(model(), "auto").precision in types_of(model())


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(workers: int) -> None:
    threads, names = torch.get_num_threads(), set()
    turn = threading.Barrier(2) if workers > 1 else None

    def work(item: int) -> tuple[int, int]:
        names.add(threading.current_thread().name)
        if turn is not None and item < 2:
            turn.wait(10)  # both must be under way at once
        return item * item, torch.get_num_threads()

    found = Workers(workers).map(work, range(7))
    assert [square for square, _ in found] == [item * item for item in range(7)]
    assert torch.get_num_threads() == threads
    if workers > 1:
        assert len(names) > 1 and {count for _, count in found} == {1}


def test_a_search_alone_has_one_thread_and_leaves_the_others_as_they_were() -> None:
    engine, threads = Engine(model(), "float32"), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread(), engine.computing():
            assert torch.get_num_threads() == 1
        with engine.computing():
            assert torch.get_num_threads() == 1  # prepared models need no more
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_an_exception_of_a_worker_is_raised_and_ends_the_work() -> None:
    done = []

    def work(item: int) -> int:
        if item == 1:
            raise UsageError("no")
        done.append(item)
        return item

    results = Workers(2).in_turn(work, range(1000))
    assert next(results) == 0
    with pytest.raises(UsageError, match="no"):
        list(results)
    assert len(done) < 1000


@pytest.mark.slow
def test_a_model_in_training_is_translated_with_as_it_is_now() -> None:
    """Two validations with an update between them: the second one must not see the weights of the first."""
    trained = model()
    settings = TrainingSettings(schedule="constant", learning_rate=0.1, warmup=1)
    schedule = make_schedule(settings, SMALL.width)
    updater = Updater(trained, make_optimiser(trained, settings), schedule, settings, "float32")
    tokens = torch.tensor([[5, 6, 3]])
    batch = TensorBatch(tokens, torch.tensor([3]), torch.tensor([[2, 7]]), torch.arange(2), torch.tensor([7, 3]), 1, 3)
    engine = Engine(trained, "float32")
    before = logits(engine)
    updater.update([batch], 1)
    after = logits(engine)
    assert not torch.allclose(before, after, atol=1e-3)
    with torch.inference_mode():
        state = trained.eval().start(tokens, torch.tensor([3]))
        torch.testing.assert_close(after, trained.step(torch.tensor([[2]]), state)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "alone"), [(SMALL, True), (RecurrentSettings(width=8), False)], ids=["prepared", "as it is"]
)
def test_each_search_can_take_one_thread(settings: Any, alone: bool) -> None:
    """A prepared model always does; for others it must be asked for, so that sums do not depend on the cores."""
    engine = Engine(model(settings), "float32")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for engine.one_thread_each in (False, True):
            with engine.computing():
                assert torch.get_num_threads() == (1 if alone or engine.one_thread_each else 3)
            assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
