"""Ends a training whose folder is no longer there: what it saves would go nowhere, or into another run."""

from collections.abc import Callable

from openwork.training.moments import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.step import StepReport


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
