"""Observers: what they write, when they stop a run, what they keep, and what they give back."""

import os
import signal
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from openwork.base.records import RecordWriter, read_records
from openwork.data.store import TokenStore
from openwork.training.checkpoint import checkpoint_step, checkpoints
from openwork.training.loop import LoopState, Observer
from openwork.training.observers.console import (
    LineObserver,
    LiveObserver,
    console_observer,
    printable,
    sparkline,
)
from openwork.training.observers.control import INTERRUPTED, InterruptionObserver, StoppingObserver, ValidationObserver
from openwork.training.observers.records import RecordObserver
from openwork.training.observers.saving import CheckpointObserver
from openwork.training.progress import Progress, Validation, duration
from openwork.training.step import StepReport
from training.tiny import SETTINGS, make_store, make_training, report, validation

EVIL = "a\x1b[31m\x07b\r\nc\u202ed\x9b"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


class Diary(Observer):
    """Notes every moment."""

    def __init__(self) -> None:
        self.moments: list[str] = []

    def started(self, run: LoopState) -> None:
        self.moments.append("started")

    def stepped(self, run: LoopState, report: StepReport) -> None:
        assert report.step == run.progress.step
        self.moments.append(f"step {report.step}")

    def validated(self, run: LoopState, validation: Validation) -> None:
        assert run.progress.validations[-1] is validation
        self.moments.append("validated")

    def saved(self, run: LoopState, folder: Path) -> None:
        self.moments.append(f"saved {folder.name}")

    def finished(self, run: LoopState) -> None:
        self.moments.append("finished")

    def closed(self, run: LoopState) -> None:
        self.moments.append("closed")


def test_moments_come_in_order(tmp_path: Path, store: TokenStore) -> None:
    training, diary = make_training(store), Diary()
    settings = SETTINGS.model_copy(update={"steps": 3, "validate_every": 2})
    observers = [
        ValidationObserver(validation),
        CheckpointObserver(tmp_path, training.model, training.optimiser),
        diary,
    ]
    training.go(settings, Progress(), observers)
    assert diary.moments == [
        "started", "step 1", "saved step-00000002", "validated", "step 2", "saved step-00000003", "validated", "step 3",
        "finished", "closed",
    ]  # fmt: skip


def test_an_observer_need_not_care(store: TokenStore) -> None:
    training = make_training(store)
    run = training.go(
        SETTINGS.model_copy(update={"steps": 2}), Progress(), [Observer(), ValidationObserver(validation)]
    )
    run.announce("saved", Path("x"))
    assert [one.step for one in run.progress.validations] == [2]


class Failing(Observer):
    def stepped(self, run: LoopState, report: StepReport) -> None:
        raise RuntimeError("stop here")


def test_what_was_taken_is_given_back_after_an_error(store: TokenStore) -> None:
    diary, stream, before = Diary(), StringIO(), signal.getsignal(signal.SIGINT)
    live = LiveObserver(Console(force_terminal=True, file=stream, width=80))
    with pytest.raises(RuntimeError, match="stop here"):
        make_training(store).go(SETTINGS, Progress(), [InterruptionObserver(), live, diary, Failing()])
    assert diary.moments == ["started", "step 1", "closed"]
    assert signal.getsignal(signal.SIGINT) is before
    assert stream.getvalue().rstrip().endswith("\x1b[?25h")  # the cursor is shown again


@pytest.mark.slow
def test_a_run_stops_when_it_no_longer_gets_better(store: TokenStore) -> None:
    losses = {1: 3.0, 2: 2.0, 3: 2.5, 4: 2.0, 5: 1.0}
    settings = SETTINGS.model_copy(update={"validate_every": 1, "patience": 2})
    observers = [ValidationObserver(lambda step: validation(step, losses[step])), StoppingObserver()]
    progress = Progress()
    run = make_training(store).go(settings, progress, observers)
    assert progress.step == 4 and run.stop_reason == "no better loss in 2 validations"
    # a resumed run knows that it is over, and makes no update more
    again = make_training(store).go(settings, progress, observers)
    assert progress.step == 4 and again.stop_reason == run.stop_reason


def test_the_first_reason_counts() -> None:
    run = LoopState(SETTINGS, Progress(), [])
    run.stop("one")
    run.stop("two")
    assert run.stop_reason == "one"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_the_run_after_the_update_and_saves(
    tmp_path: Path, store: TokenStore, number: signal.Signals
) -> None:
    class Sender(Observer):
        def stepped(self, run: LoopState, report: StepReport) -> None:
            if report.step == 3:
                os.kill(os.getpid(), number)

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    training, progress = make_training(store), Progress()
    saver = CheckpointObserver(tmp_path, training.model, training.optimiser)
    run = training.go(SETTINGS, progress, [saver, InterruptionObserver(), Sender()])
    assert run.stop_reason == INTERRUPTED and progress.step == 3
    assert [checkpoint_step(path) for path in checkpoints(tmp_path)] == [3]
    assert {one: signal.getsignal(one) for one in before} == before


def test_the_second_signal_ends_at_once(store: TokenStore) -> None:
    class Sender(Observer):
        def stepped(self, run: LoopState, report: StepReport) -> None:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)

    diary = Diary()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell began the tests with `&`
    try:
        with pytest.raises(KeyboardInterrupt):
            make_training(store).go(SETTINGS, Progress(), [InterruptionObserver(), Sender(), diary])
    finally:
        signal.signal(signal.SIGINT, before)
    assert diary.moments == ["started", "closed"]


def save_all(
    folder: Path, store: TokenStore, losses: dict[int, float], off: tuple[int, ...] = (), average: int = 2
) -> list[int]:
    """The steps of the checkpoints that are left when validations gave `losses`, with saves between at `off`."""
    training = make_training(store)
    run = LoopState(SETTINGS.model_copy(update={"average": average}), Progress(), [])
    for step in sorted({*losses, *off}):
        saver = CheckpointObserver(folder, training.model, training.optimiser)
        run.progress.step = step
        if step in losses:
            run.progress.validations.append(validation(step, losses[step]))
            saver.validated(run, run.progress.validations[-1])
        else:
            saver.finished(run)  # an interruption
    return [checkpoint_step(path) for path in checkpoints(folder)]


@pytest.mark.slow
def test_kept_are_the_last_and_those_up_to_the_best(tmp_path: Path, store: TokenStore) -> None:
    losses = {10: 5.0, 20: 4.0, 30: 1.0, 40: 2.0, 50: 3.0, 60: 3.5}
    assert save_all(tmp_path / "a", store, losses) == [20, 30, 50, 60]
    assert save_all(tmp_path / "b", store, losses, average=1) == [30, 50, 60]  # never fewer than two
    assert save_all(tmp_path / "c", store, losses, average=3) == [10, 20, 30, 40, 50, 60]


@pytest.mark.slow
def test_an_interruption_does_not_change_which_are_averaged(tmp_path: Path, store: TokenStore) -> None:
    losses = {10: 5.0, 20: 4.0, 30: 1.0, 40: 2.0}
    assert save_all(tmp_path / "a", store, losses, off=(25, 37)) == save_all(tmp_path / "b", store, losses)
    # while it is the newest, it stays
    assert save_all(tmp_path / "c", store, {10: 5.0, 20: 4.0, 30: 3.0}, off=(33,)) == [20, 30, 33]


def test_what_ends_before_its_first_update_is_saved(tmp_path: Path, store: TokenStore) -> None:
    training = make_training(store)
    CheckpointObserver(tmp_path, training.model, training.optimiser).finished(LoopState(SETTINGS, Progress(), []))
    assert [checkpoint_step(path) for path in checkpoints(tmp_path)] == [0]


def test_the_end_is_saved_once(tmp_path: Path, store: TokenStore) -> None:
    training, diary = make_training(store), Diary()
    saver = CheckpointObserver(tmp_path, training.model, training.optimiser)
    training.go(SETTINGS.model_copy(update={"steps": 2}), Progress(), [saver, diary])
    training.go(SETTINGS.model_copy(update={"steps": 1}), Progress(), [ValidationObserver(validation), saver, diary])
    assert [moment for moment in diary.moments if moment.startswith("saved")] == [
        "saved step-00000002",
        "saved step-00000001",
    ]


def test_records(tmp_path: Path, store: TokenStore) -> None:
    training, path = make_training(store), tmp_path / "run.jsonl"
    sampled = validation(4, bleu=12.5, sample=("日", EVIL, "c"))
    with RecordWriter(path) as writer:
        observers = [ValidationObserver(lambda step: sampled), RecordObserver(writer)]
        progress = Progress()
        training.go(SETTINGS.model_copy(update={"steps": 4}), progress, observers)
    records = read_records(path)
    assert [record["kind"] for record in records] == ["started", "step", "step", "validation", "step", "finished"]
    assert [record["step"] for record in records if record["kind"] == "step"] == [1, 2, 4]
    first = records[1]
    assert first["learning_rate"] == pytest.approx(0.01 / 4) and first["tokens_per_second"] > 0
    assert {"loss", "likelihood", "gradient_norm", "target_tokens", "epoch", "seconds"} <= first.keys()
    assert all(record["seconds"] == round(record["seconds"], 3) >= 0 for record in records if "seconds" in record)
    assert records[3]["bleu"] == 12.5 and records[3]["sample"] == ["日", EVIL, "c"]
    assert records[-1]["reason"] == "all updates made" and records[-1]["target_tokens"] == progress.target_tokens


def watch(observer: Observer) -> LoopState:
    """Some updates of a run, a validation with a wicked sample, and the end."""
    run = LoopState(SETTINGS, Progress(), [observer])
    observer.started(run)
    for step in range(1, 5):
        run.progress.step, run.progress.seconds = step, 0.5 * step
        observer.stepped(run, report(step, 4.0 - step / 2))
    run.progress.validations.append(validation(4, 1.5, bleu=20.25, exact=0.5, sample=(EVIL, "two", "three")))
    observer.validated(run, run.progress.validations[-1])
    run.progress.step = 5
    observer.stepped(run, report(5))
    run.stop(EVIL)
    observer.finished(run)
    observer.closed(run)
    return run


def test_plain_lines() -> None:
    stream = StringIO()
    watch(LineObserver(Console(file=stream, width=40)))
    lines = stream.getvalue().split("\n")
    assert lines[0] == (
        "step=2 loss=3.0000 rate=1.00e-03 norm=0.50 tokens_per_second=200 epoch=0 remaining=5s"  # 100 tokens in 0.5 s
    )
    assert lines[2] == "validation step=4 loss=1.5000 perplexity=2.700 bleu=20.25 exact=50.00% seconds=0.0"
    assert lines[3].startswith("sample source='a\\x1b[31m") and lines[4].startswith("finished step=5 reason=")
    assert len(lines) == 6  # a step each second update, validation, sample, end: no line is broken or added
    assert all(character.isprintable() for line in lines for character in line)


def test_the_live_block() -> None:
    stream = StringIO()
    console = Console(force_terminal=True, file=stream, width=100, height=40, color_system=None)
    watch(LiveObserver(console))
    text = stream.getvalue()
    shown = text[text.rindex("update") :]
    for part in ("5 of 12", "tokens/s", "loss", "held out", "bleu 20.25", "exact 50.00%", "translation", "three"):
        assert part in shown, part
    assert "\x1b[31m" not in text and "\x07" not in text and "\u202e" not in text and "\x9b" not in text
    assert text.rstrip().endswith("\x1b[?25h")


def test_a_terminal_gets_the_block_and_a_file_the_lines() -> None:
    assert isinstance(console_observer(Console(file=StringIO(), force_terminal=True)), LiveObserver)
    assert isinstance(console_observer(Console(file=StringIO())), LineObserver)


def test_small_pictures() -> None:
    assert sparkline([1.0, 2.0, 3.0]) == "▁▅█"
    assert sparkline([]) == "" and sparkline([2.0]) == "▁" and sparkline([2.0, 2.0]) == "▁▁"
    assert len(sparkline([float(i) for i in range(1000)])) == 40
    assert [duration(s) for s in (0.2, 59.4, 185.0, 3720.0, -1.0)] == ["0s", "59s", "3m05s", "1h02m", "0s"]
    assert printable("é 日\t\x1b\u202e") == "é 日   "
