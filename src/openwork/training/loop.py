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

from openwork.training.batches.batch import Stream
from openwork.training.progress import Progress, Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport, Updater


@dataclass
class LoopState:
    """What observers see, and the two things they may do: announce a moment, and ask for the end."""

    settings: TrainingSettings
    progress: Progress
    observers: Sequence["Observer"]
    stop_reason: str | None = None

    def stop(self, reason: str) -> None:
        """Ends the run after the present update."""
        self.stop_reason = self.stop_reason or reason

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
        while progress.step < run.settings.steps and run.stop_reason is None:
            before = time.perf_counter()
            batches = [stream.next(progress) for _ in range(run.settings.accumulate)]
            report = updater.update(batches, progress.step + 1, progress.rate_scale)
            progress.step = report.step
            progress.divisions = updater.divisions
            progress.target_tokens += report.target_tokens
            progress.seconds += time.perf_counter() - before
            run.announce("stepped", report)
        run.announce("finished")
    finally:
        run.announce("closed")
