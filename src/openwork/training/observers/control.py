"""Observers that act on a run: they validate it, stop it, protect it, and repair it.

The updater changes nothing in an update whose loss or gradient is no number: it is skipped. One bad batch costs one
update, and is kept for inspection. Several in a row mean that the weights have gone where no gradient leads back: then
those of the newest checkpoint return, and the rate is halved from there on. If that does not help either, the training
ends and says so.

Ctrl-C, SIGTERM and a terminal that is closed: the first ends the run after the present update and saves; the second
ends at once.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.training.batches.batch import Place
from openwork.training.loop import INTERRUPTED, LoopState, Observer
from openwork.training.progress import Progress, Validation
from openwork.training.step import StepReport


@dataclass(eq=False)
class ValidationObserver(Observer):
    """Calls `validate(step)` and notes the result in the run's progress before the other observers see it.

    Not after an update that was skipped: what its weights are worth is not known, and no checkpoint should keep them.
    """

    validate: Callable[[int], Validation]

    def stepped(self, run: LoopState, report: StepReport) -> None:
        last = report.step == run.settings.steps
        if last or (not report.skipped and report.step % run.settings.validate_every == 0):
            validation = self.validate(report.step)
            run.progress.validations.append(validation)
            run.announce("validated", validation)


class StoppingObserver(Observer):
    """Stops after `patience` validations without a better figure."""

    def started(self, run: LoopState) -> None:
        self._judge(run)  # a run that had stopped for this reason does not go on when it is resumed

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._judge(run)

    def _judge(self, run: LoopState) -> None:
        since = run.progress.since_best(run.settings.metric)
        if since >= run.settings.patience:
            run.stop(f"no better {run.settings.metric} in {since} validations")


@dataclass(eq=False)
class RunLockObserver(Observer):
    """Ends a training whose folder is no longer there: what it saves would go nowhere, or into another run.

    Calls `check` at times, and before anything is saved; it raises an error where the folder is not the run's.
    """

    check: Callable[[], None]

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step % run.settings.log_every == 0:
            self.check()

    def validated(self, run: LoopState, validation: Validation) -> None:
        self.check()

    def finished(self, run: LoopState) -> None:
        self.check()


IN_A_ROW = 5  # updates that may be skipped before the weights of the last checkpoint return
RETURNS = 3  # how often they may
SLOWER = 0.5  # what is left of the rate after each time


@dataclass(eq=False)
class RecoveryObserver(Observer):
    """Skips bad updates, returns to a checkpoint after several, and reports a lack of memory.

    `restore` restores the newest checkpoint and returns its update, None if there is none; `keep` writes the batches of
    an update, which begin at a place, into a file.
    """

    restore: Callable[[], int | None]
    keep: Callable[[Place, int], Path]
    report: Callable[[str], None]
    _next: Place = field(default=(0, 0), init=False)
    _kept: bool = field(default=False, init=False)
    _divisions: int = field(default=1, init=False)

    def started(self, run: LoopState) -> None:
        self._next = run.progress.epoch, run.progress.batch
        self._divisions = run.progress.divisions

    def stepped(self, run: LoopState, report: StepReport) -> None:
        progress = run.progress
        if progress.divisions > self._divisions:
            self._divisions = progress.divisions
            self.report(
                f"update {report.step}: memory was not enough; from here on batches are computed in {self._divisions} "
                "parts, one after the other, and make the same update"
            )
        place, self._next = self._next, (progress.epoch, progress.batch)
        if not report.skipped:
            progress.skipped = 0
            return
        progress.skipped += 1
        self.report(f"update {report.step}: the loss or its gradient is no number; this update is skipped")
        if not self._kept:
            self._kept = True
            self.report(f"the sentences of this update are in {self.keep(place, run.settings.accumulate)}")
        if progress.skipped >= IN_A_ROW:
            self._go_back(progress, report.step)

    def _go_back(self, progress: Progress, step: int) -> None:
        before = self.restore() if progress.returns < RETURNS else None
        if before is None:
            raise OpenworkError(
                f"the loss or its gradient is no longer a number, up to update {step}; nothing was changed by these "
                "updates",
                why="the learning rate is most often too high for the warm-up",
                hint="lower training.learning_rate (or schedule_scale), or raise training.warmup, and start again; "
                "the checkpoints before are intact",
                code="E020",
            )
        progress.returns += 1
        progress.rate_scale *= SLOWER
        progress.skipped = 0
        self.report(
            f"{IN_A_ROW} updates in a row were skipped: the weights of update {before} return, "
            f"and the rate is {progress.rate_scale:g} of the schedule's from here on"
        )


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
            _restore(self._previous)
            self._announce()

        self._previous = _handle([signal.SIGINT, *_endings()], handle)

    def closed(self, run: LoopState) -> None:
        _restore(self._previous)


def _handle(signals: Sequence[signal.Signals], handler: Handler) -> dict[signal.Signals, Handler]:
    """Sets a handler, and returns those before."""
    # None: the handler before was not set by Python, and Python cannot put it back
    return {number: signal.signal(number, handler) or signal.SIG_DFL for number in signals}


def _restore(handlers: dict[signal.Signals, Handler]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
    handlers.clear()


def _endings() -> list[signal.Signals]:
    """What else ends a process in good order; a closed terminal not where it is to be ignored (nohup)."""
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is None or signal.getsignal(hang_up) is signal.SIG_IGN:
        return [signal.SIGTERM]
    return [signal.SIGTERM, hang_up]


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """Within it these signals raise KeyboardInterrupt, as Ctrl-C does: half-written files are removed, and a message
    says how to continue. Only the main thread receives signals; elsewhere nothing changes."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = {}
    if threading.current_thread() is threading.main_thread():
        previous = _handle(_endings(), handle)
    try:
        yield
    finally:
        _restore(previous)
