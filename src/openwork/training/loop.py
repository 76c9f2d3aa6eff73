"""The training loop: updates, one after the other, announced to the observers.

An observer has a method for each moment that it cares for. Moments are announced in this order:

    started      once, before the first update of this process (also when a run is resumed)
    stepped      after each update
    validated    after a validation on held-out pairs
    saved        after a checkpoint was written
    finished     once, after the last update or when the run was stopped
    closed       once, at the very end, also after an error: the time to give back the terminal and the signals
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openwork.machine.processes import ALONE, Processes
from openwork.training.batches.batch import Stream
from openwork.training.progress import Progress, Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport, Updater

INTERRUPTED = "interrupted"


@dataclass
class LoopState:
    """What observers see, and the two things they may do: announce a moment, and ask for the end."""

    settings: TrainingSettings
    progress: Progress
    observers: Sequence["Observer"]
    stop_reason: str | None = None
    processes: Processes = ALONE

    def stop(self, reason: str) -> None:
        """Ends the run after the present update."""
        self.stop_reason = self.stop_reason or reason

    def goes_on(self) -> bool:
        """Whether updates are left and no process has asked for the end: the same on all of them."""
        asked = self.processes.total(self.stop_reason is not None)[0]
        if asked:
            self.stop(INTERRUPTED)
        return not asked and self.progress.step < self.settings.steps

    def announce(self, moment: str, *details: Validation | StepReport | Path) -> None:
        """Calls the method `moment` of all observers; who validates or saves announces it."""
        for observer in self.observers:
            getattr(observer, moment)(self, *details)


class Observer:
    """Watches a run; each method does nothing unless it is overridden."""

    def started(self, run: LoopState) -> None: ...

    def stepped(self, run: LoopState, report: StepReport) -> None: ...

    def validated(self, run: LoopState, validation: Validation) -> None: ...

    def saved(self, run: LoopState, folder: Path) -> None: ...

    def finished(self, run: LoopState) -> None: ...

    def closed(self, run: LoopState) -> None: ...


def train(updater: Updater, stream: Stream, run: LoopState) -> None:
    """Goes on from `run.progress` until all updates are made or an observer asks for the end."""
    progress = run.progress
    try:
        run.announce("started")
        updater.divisions = progress.divisions
        while run.goes_on():
            before, used = time.perf_counter(), time.process_time()
            batches = [stream.next(progress) for _ in range(run.settings.accumulate)]
            report = updater.update(batches, progress.step + 1, progress.rate_scale)
            progress.step = report.step
            progress.divisions = updater.divisions
            progress.target_tokens += report.target_tokens
            progress.seconds += time.perf_counter() - before
            run.announce("stepped", report)
            progress.processor_seconds += time.process_time() - used
        run.announce("finished")
    finally:
        run.announce("closed")
