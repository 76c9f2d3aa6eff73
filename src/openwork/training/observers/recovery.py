"""What becomes of a training whose loss or gradient is no number, and what is said of one that lacks memory.

The updater changes nothing in such an update: it is skipped. One bad batch costs one update, and is kept to be looked
at. Several in a row mean that the weights have gone where no gradient leads back: then those of the newest checkpoint
return, and the rate is halved from there on. If that does not help either, the training ends and says so.
"""

from collections.abc import Callable
from pathlib import Path

from openwork.base.errors import OpenworkError
from openwork.training.moments import LoopState, Observer
from openwork.training.step import StepReport

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
