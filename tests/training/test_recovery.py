"""Losses that are no numbers: planted in a batch, in the weights, for ever."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from openwork.base.errors import OpenworkError
from openwork.data.store import TokenStore
from openwork.models.weights import model_weights
from openwork.training.batches.batch import TrainingBatch
from openwork.training.checkpoint import checkpoints, load_weights, resume_latest
from openwork.training.loop import LoopState, Observer
from openwork.training.loss import Objective
from openwork.training.observers.console import LiveObserver
from openwork.training.observers.control import IN_A_ROW, RETURNS, SLOWER, RecoveryObserver, ValidationObserver
from openwork.training.observers.saving import CheckpointObserver
from openwork.training.progress import Progress
from openwork.training.step import StepReport, is_out_of_memory
from training.tiny import BATCH_NORMALISED, MODEL, SETTINGS, Training, make_store, make_training, validation

pytestmark = pytest.mark.slow

LONG = SETTINGS.model_copy(update={"steps": 40})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


class Poison(Observer):
    """After these updates something happens to the weights."""

    def __init__(self, training: Training, steps: set[int]) -> None:
        self.training, self.steps = training, steps

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step in self.steps:
            self.training.model.output_weight.detach()[4, 0] = float("nan")


class Watched:
    """A training with its recovery: what was said, which places were kept, and every report."""

    def __init__(self, store: TokenStore, folder: Path, steps: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.training, self.progress = make_training(store, LONG), Progress()
        self.folder, self.said, self.kept = folder, [], []
        self.reports: list[StepReport] = []
        watch = Observer()
        watch.stepped = lambda run, report: self.reports.append(report)  # type: ignore[method-assign]
        self.observers = [
            RecoveryObserver(self.restore, self.keep, self.said.append),
            ValidationObserver(lambda step: validation(step)),
            CheckpointObserver(folder, self.training.model, self.training.optimiser),
            Poison(self.training, set(steps)),
            watch,
        ]

    def restore(self) -> int | None:
        found = resume_latest(self.folder, self.training.model, self.training.optimiser, in_trouble=False)
        return None if found is None else found.progress.step

    def keep(self, place: tuple[int, int], count: int) -> Path:
        self.kept.append((*place, count))
        return self.folder / "bad"

    def go(self) -> None:
        self.training.go(LONG, self.progress, self.observers)


def bad_batch(monkeypatch: pytest.MonkeyPatch, training: Training, numbers: set[int]) -> None:
    """The batches with these numbers (from 1) have no finite loss."""
    seen = 0
    plain: Objective = training.updater.objective

    def objective(model: object, batch: object) -> object:
        nonlocal seen
        seen += 1
        sums = plain(model, batch)  # type: ignore[arg-type]
        return replace(sums, smoothed=sums.smoothed * float("nan" if seen in numbers else 1))

    monkeypatch.setattr(training.updater, "objective", objective)


def test_one_bad_batch_costs_one_update(store: TokenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(store, tmp_path)
    before: list[dict[str, torch.Tensor]] = []
    remember = Observer()
    remember.stepped = lambda run, report: before.append(  # type: ignore[method-assign]
        {name: tensor.clone() for name, tensor in model_weights(watched.training.model).items()}
    )
    watched.observers.append(remember)
    bad_batch(monkeypatch, watched.training, {7, 9})
    watched.go()
    assert [report.step for report in watched.reports if report.skipped] == [7, 9]
    assert all(torch.equal(before[5][name], before[6][name]) for name in before[5])  # nothing was changed
    assert (
        not torch.equal(before[6]["output.weight"], before[7]["output.weight"])
        if "output.weight" in before[6]
        else True
    )
    assert watched.progress.step == LONG.steps and watched.progress.rate_scale == 1.0 and watched.progress.skipped == 0
    assert len(watched.kept) == 1  # the first one
    progress = Progress()
    for _ in range(6):
        watched.training.stream.next(progress)
    assert watched.kept[0] == (progress.epoch, progress.batch, 1)
    assert watched.said[0].startswith("update 7:") and "sentences of this update" in watched.said[1]


def test_after_several_in_a_row_the_weights_return_at_half_the_rate(store: TokenStore, tmp_path: Path) -> None:
    watched = Watched(store, tmp_path, {9})
    watched.go()
    skipped = [report.step for report in watched.reports if report.skipped]
    assert skipped == list(range(10, 10 + IN_A_ROW))
    assert watched.progress.rate_scale == SLOWER and watched.progress.returns == 1
    for report in watched.reports:
        scale = SLOWER if report.step > skipped[-1] else 1.0
        if not report.skipped:
            assert report.learning_rate == pytest.approx(scale * watched.training.updater.schedule(report.step))
    assert bool(torch.isfinite(watched.training.model.output_weight).all())
    assert "the weights of update 8 return" in watched.said[-1]
    newest = checkpoints(tmp_path)[-1]
    assert bool(torch.isfinite(next(iter(load_weights(newest).values()))).all())


def test_a_resumed_run_remembers_the_lower_rate() -> None:
    progress = Progress(step=3, skipped=2, returns=1, rate_scale=0.5)
    assert Progress.from_json(progress.to_json()) == progress
    old = {
        key: value
        for key, value in Progress(step=3).to_json().items()
        if key not in ("skipped", "returns", "rate_scale")
    }
    assert Progress.from_json(old) == Progress(step=3)


def test_it_ends_where_nothing_helps(store: TokenStore, tmp_path: Path) -> None:
    early = Watched(store, tmp_path / "early", {1})  # before there is a checkpoint
    with pytest.raises(OpenworkError, match=f"up to update {1 + IN_A_ROW}") as refused:
        early.go()
    assert refused.value.hint
    always = Watched(store, tmp_path / "always", {5, *range(5 + IN_A_ROW, 40)})
    with pytest.raises(OpenworkError, match="no longer a number"):
        always.go()
    assert always.progress.returns == RETURNS
    assert always.progress.rate_scale == SLOWER**RETURNS


@pytest.mark.parametrize("accumulate", [1, 2])
def test_too_little_memory_makes_smaller_parts_and_the_same_update(
    store: TokenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accumulate: int
) -> None:
    still = MODEL.model_copy(update={"dropout": 0.0})  # what dropout leaves out follows from the part
    settings = LONG.model_copy(update={"accumulate": accumulate, "steps": 6})
    plain, small = (make_training(store, settings, still) for _ in range(2))
    objective, most = small.updater.objective, 3

    def narrow(model: object, batch: TrainingBatch) -> object:
        if batch.sentences > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return objective(model, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(small.updater, "objective", narrow)
    said: list[str] = []
    progress = Progress()
    plain.go(settings, Progress())
    small.go(settings, progress, [RecoveryObserver(lambda: None, lambda place, count: tmp_path, said.append)])
    for name, tensor in model_weights(plain.model).items():
        torch.testing.assert_close(model_weights(small.model)[name], tensor, rtol=1e-4, atol=1e-5)
    assert progress.divisions > 1 and sum("memory was not enough" in line for line in said) <= 2
    again = make_training(store, settings, still)
    assert again.go(settings.model_copy(update={"steps": 7}), progress).progress.divisions == progress.divisions
    monkeypatch.setattr(small.updater, "objective", lambda *_: raise_(MemoryError()))
    with pytest.raises(OpenworkError, match="sentence by sentence"):
        small.go(settings.model_copy(update={"steps": 7}), Progress())


def raise_(error: BaseException) -> None:
    raise error


def test_a_bad_batch_leaves_no_trace_in_batch_norms(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LONG.model_copy(update={"steps": 3})
    training = make_training(store, settings, BATCH_NORMALISED)
    bad_batch(monkeypatch, training, {2})
    seen: list[dict[str, torch.Tensor]] = []
    remember = Observer()
    remember.stepped = lambda run, report: seen.append(  # type: ignore[method-assign]
        {name: tensor.clone() for name, tensor in model_weights(training.model).items()}
    )
    training.go(settings, Progress(), [remember])
    moved = [[name for name in one if not torch.equal(one[name], two[name])] for one, two in pairwise(seen)]
    assert moved[0] == [] and any(name.endswith("running_variance") for name in moved[1])


def test_too_little_memory_for_a_whole_batch_is_told(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    training = make_training(store, LONG, BATCH_NORMALISED)
    monkeypatch.setattr(training.updater, "objective", lambda *_: raise_(MemoryError()))
    with pytest.raises(OpenworkError, match="whole batch") as refused:
        training.go(LONG, Progress())
    assert "batches.tokens" in refused.value.hint


def test_what_is_no_want_of_memory_is_an_error_as_ever(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    training = make_training(store, LONG)
    monkeypatch.setattr(training.updater, "objective", lambda *_: raise_(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        training.go(LONG, Progress())
    words = "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
    assert is_out_of_memory(RuntimeError(words)) and not is_out_of_memory(ValueError(words))


def test_a_terminal_shows_the_losses_that_are_numbers(
    store: TokenStore, tmp_path: Path, make_console: Callable
) -> None:
    shown = LiveObserver(make_console())
    watched = Watched(store, tmp_path, {9})
    watched.observers.append(shown)
    watched.go()
    assert len(shown.losses) == LONG.steps - IN_A_ROW


@pytest.fixture
def make_console() -> Callable:
    from io import StringIO

    from rich.console import Console

    return lambda: Console(file=StringIO(), force_terminal=True, width=80)
