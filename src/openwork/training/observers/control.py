"""Looks at held-out pairs every so many updates."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.training.averaging import MovingAverage
from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.step import StepReport


class ValidationObserver(Observer):
    """Calls `validate(step)` and notes the result in the run's progress before the others hear of it.

    Not after an update that was skipped: what its weights are worth is not known, and no checkpoint should keep them.
    """

    def __init__(self, validate: Callable[[int], Validation]) -> None:
        self.validate = validate

    def stepped(self, run: LoopState, report: StepReport) -> None:
        last = report.step == run.settings.steps
        if last or (not report.skipped and report.step % run.settings.validate_every == 0):
            validation = self.validate(report.step)
            run.progress.validations.append(validation)
            run.announce_validated(validation)


class StoppingObserver(Observer):
    """Stops after `patience` validations without a better figure."""

    def started(self, run: LoopState) -> None:
        self._judge(run)  # a run that had stopped for this reason does not go on when it is resumed

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._judge(run)

    def _judge(self, run: LoopState) -> None:
        settings = run.settings
        since = run.progress.since_best(settings.metric)
        if since >= settings.patience:
            run.stop(f"no better {settings.metric} in {since} validations")


class RunLockObserver(Observer):
    """Calls `check` at times, and before anything is saved; it raises an error where the folder is not the run's."""

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step % run.settings.log_every == 0:
            self.check()

    def validated(self, run: LoopState, validation: Validation) -> None:
        self.check()

    def finished(self, run: LoopState) -> None:
        self.check()


class AveragingObserver(Observer):
    """Must watch before the one that saves checkpoints, so that what is saved is the average up to that update."""

    def __init__(self, moving_average: MovingAverage) -> None:
        self.moving_average = moving_average

    def stepped(self, run: LoopState, report: StepReport) -> None:
        self.moving_average.update(report.step)


IN_A_ROW = 5  # updates that may be skipped before the weights of the last checkpoint return
RETURNS = 3  # how often they may
SLOWER = 0.5  # what is left of the rate after each time

Place = tuple[int, int]
"""Epoch and batch."""


class RecoveryObserver(Observer):
    """`restore` brings back the newest checkpoint and gives its update, None if there is none; `keep` writes the
    batches of an update, which begin at a place, into a file.
    """

    def __init__(
        self, restore: Callable[[], int | None], keep: Callable[[Place, int], Path], say: Callable[[str], None]
    ) -> None:
        self.restore = restore
        self.keep = keep
        self.say = say
        self._next: Place = (0, 0)
        self._kept = False
        self._divisions = 1

    def started(self, run: LoopState) -> None:
        self._next = run.progress.epoch, run.progress.batch
        self._divisions = run.progress.divisions

    def stepped(self, run: LoopState, report: StepReport) -> None:
        progress, say = run.progress, self.say
        if progress.divisions > self._divisions:
            self._divisions = progress.divisions
            say(
                f"update {report.step}: memory was not enough; from here on batches are computed in {self._divisions} "
                "parts, one after the other, and make the same update"
            )
        place, self._next = self._next, (progress.epoch, progress.batch)
        if not report.skipped:
            progress.skipped = 0
            return
        progress.skipped += 1
        say(f"update {report.step}: the loss or its gradient is no number; this update is skipped")
        if not self._kept:
            self._kept = True
            say(f"the sentences of this update are in {self.keep(place, run.settings.accumulate)}")
        if progress.skipped >= IN_A_ROW:
            self._go_back(run, report.step)

    def _go_back(self, run: LoopState, step: int) -> None:
        say = self.say
        before = self.restore() if run.progress.returns < RETURNS else None
        if before is None:
            raise _diverged(step)
        run.progress.returns += 1
        run.progress.rate_scale *= SLOWER
        run.progress.skipped = 0
        say(
            f"{IN_A_ROW} updates in a row were skipped: the weights of update {before} return, "
            f"and the rate is {run.progress.rate_scale:g} of the schedule's from here on"
        )


def _diverged(step: int) -> OpenworkError:
    return OpenworkError(
        f"the loss or its gradient is no longer a number, up to update {step}; nothing was changed by these updates",
        why="the learning rate is most often too high for the warm-up",
        hint="lower training.learning_rate (or schedule_scale), or raise training.warmup, and start again; "
        "the checkpoints before are intact",
        code="E020",
    )


INTERRUPTED = "interrupted"

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers


class InterruptionObserver(Observer):
    """Catches the signals while the run lasts."""

    def __init__(self, announce: Callable[[], None] = lambda: None) -> None:
        """`announce` is called at the first signal: until the update or the validation ends, nothing else is seen."""
        self._announce = announce
        self._previous: dict[signal.Signals, Handler] = {}

    def started(self, run: LoopState) -> None:
        def handle(number: int, frame: FrameType | None) -> None:
            run.stop(INTERRUPTED)
            self._give_back()
            self._announce()

        for number in (signal.SIGINT, *_endings()):
            # None: the handler before was not set by Python, and Python cannot put it back
            self._previous[number] = signal.signal(number, handle) or signal.SIG_DFL

    def closed(self, run: LoopState) -> None:
        self._give_back()

    def _give_back(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()


def _endings() -> list[signal.Signals]:
    """What else ends a process in good order; a closed terminal not where it is to be ignored (nohup)."""
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is None or signal.getsignal(hang_up) is signal.SIG_IGN:
        return [signal.SIGTERM]
    return [signal.SIGTERM, hang_up]


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """Within it these signals raise KeyboardInterrupt, as Ctrl-C does: what is half written is cleared away, and it is
    said how to go on. Only the main thread can be told of signals; elsewhere nothing changes."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) or signal.SIG_DFL for number in _endings()}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
