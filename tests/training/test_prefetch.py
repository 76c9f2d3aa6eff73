"""Prefetched batches: the same batches in the same order, a place that is the run's, errors shown, a clean end."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from openwork.base.errors import DataError
from openwork.data.store import TokenStore
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_weights
from openwork.training.batches.batch import PrefetchedStream, Stream, TrainingBatch, prefetched
from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Progress
from openwork.training.step import StepReport
from training.tiny import SETTINGS, make_store, make_training


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def walkers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("openwork-prefetch")]


@dataclass(frozen=True)
class Placed(TrainingBatch):
    """A batch that is only its place."""

    place: tuple[int, int]

    def hidden(self, model: SequenceModel) -> torch.Tensor:
        raise NotImplementedError

    def parts(self, count: int) -> list[TrainingBatch]:
        return [self]


class Counted:
    """Gives batches that know their places, three an epoch; fails at the place `bad`."""

    def __init__(self, bad: tuple[int, int] | None = None) -> None:
        self.given: list[tuple[int, int]] = []
        self.bad = bad

    def next(self, progress: Progress) -> Placed:
        place = progress.epoch, progress.batch
        if place == self.bad:
            raise DataError("the store is damaged")
        self.given.append(place)
        progress.epoch, progress.batch = (place[0], place[1] + 1) if place[1] < 2 else (place[0] + 1, 0)
        return Placed(place)


def place_of(stream: Stream, progress: Progress) -> tuple[int, int]:
    batch = stream.next(progress)
    assert isinstance(batch, Placed)
    return batch.place


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_batches_come_in_order_and_the_place_is_that_of_the_batch_taken(ahead: int) -> None:
    source, progress = Counted(), Progress(epoch=4, batch=1)
    with prefetched(source, ahead) as stream:
        places = []
        for _ in range(6):
            places.append(place_of(stream, progress))
            assert len(source.given) <= len(places) + ahead + 1  # one more is in the thread's hands
        assert places == [(4, 1), (4, 2), (5, 0), (5, 1), (5, 2), (6, 0)]
        assert (progress.epoch, progress.batch) == (6, 1)  # not where the thread is
    assert not walkers()


def test_batches_are_made_before_they_are_asked_for() -> None:
    source = Counted()
    made = threading.Event()
    give = source.next

    def next_and_tell(progress: Progress) -> Placed:
        found = give(progress)
        if len(source.given) == 3:
            made.set()
        return found

    source.next = next_and_tell  # type: ignore[method-assign]
    with prefetched(source, 2) as stream:
        stream.next(Progress())
        assert made.wait(10)


def test_a_run_set_to_another_place_gets_the_batch_of_that_place() -> None:
    with prefetched(Counted(), 2) as stream:
        assert place_of(stream, Progress()) == (0, 0)
        assert place_of(stream, Progress(epoch=7)) == (7, 0)
        assert len(walkers()) == 1


def test_an_error_of_the_thread_is_raised_where_its_batch_is_asked_for() -> None:
    with pytest.raises(DataError, match="the store is damaged"), prefetched(Counted(bad=(0, 2)), 5) as stream:
        progress = Progress()
        assert [place_of(stream, progress), place_of(stream, progress)] == [(0, 0), (0, 1)]
        stream.next(progress)
    assert not walkers()


def test_the_thread_ends_when_the_training_is_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), prefetched(Counted(), 1) as stream:
        stream.next(Progress())
        raise KeyboardInterrupt
    assert not walkers()


def test_none_ahead_is_the_stream_itself() -> None:
    source = Counted()
    with prefetched(source, 0) as stream:
        assert stream is source
    assert not walkers()


class Interrupts(Observer):
    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step == 5:
            run.stop("enough")


@pytest.mark.slow
def test_weights_and_place_are_the_same_with_and_without_also_after_a_resumption(store: TokenStore) -> None:
    settings = SETTINGS.model_copy(update={"accumulate": 2})
    plain, place = make_training(store, settings), Progress()
    plain.go(settings, place)
    ahead, other = make_training(store, settings), Progress()
    with prefetched(ahead.stream, 3) as stream:
        replace(ahead, stream=stream).go(settings, other, [Interrupts()])
    assert other.step == 5
    with prefetched(ahead.stream, 3) as stream:  # a new thread, from the place that was kept
        assert isinstance(stream, PrefetchedStream)
        replace(ahead, stream=stream).go(settings, other)
    assert (other.epoch, other.batch) == (place.epoch, place.batch)
    assert place.epoch >= 1
    first, second = model_weights(plain.model), model_weights(ahead.model)
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_real_batches_are_the_same(store: TokenStore, tmp_path: Path) -> None:
    one, two = make_training(store), make_training(store)
    first, second = Progress(), Progress()
    with prefetched(two.stream, 2) as stream:
        for _ in range(20):
            plain, ready = one.stream.next(first), stream.next(second)
            assert plain.source_tokens == ready.source_tokens and torch.equal(plain.real_targets, ready.real_targets)
