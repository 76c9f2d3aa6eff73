"""The moments of a training, and who may watch them.

An observer has a method for each moment that it cares for. Moments are announced in this order:

    started      once, before the first update of this process (also when a run is resumed)
    stepped      after each update
    validated    after held-out pairs were looked at
    saved        after a checkpoint was written
    finished     once, after the last update or when the run was stopped
    closed       once, at the very end, also after an error: the time to give back the terminal and the signals
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    stop_reason: str | None = field(default=None)

    def stop(self, reason: str) -> None:
        """Ends the run after the present update."""
        self.stop_reason = self.stop_reason or reason

    def announce_validated(self, validation: Validation) -> None:
        """A validation observer calls this when it has looked."""
        for observer in self.observers:
            observer.validated(self, validation)

    def announce_saved(self, folder: Path) -> None:
        """A checkpoint observer calls this when it has written."""
        for observer in self.observers:
            observer.saved(self, folder)


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
    try:
        for observer in run.observers:
            observer.started(run)
        _make_updates(updater, stream, run)
        for observer in run.observers:
            observer.finished(run)
    finally:
        for observer in run.observers:
            observer.closed(run)


def _make_updates(updater: Updater, stream: Stream, run: LoopState) -> None:
    progress = run.progress
    updater.divisions = progress.divisions
    while progress.step < run.settings.steps and run.stop_reason is None:
        before = time.perf_counter()
        batches = [stream.next(progress) for _ in range(run.settings.accumulate)]
        report = updater.update(batches, progress.step + 1, progress.rate_scale)
        progress.step = report.step
        progress.divisions = updater.divisions
        progress.target_tokens += report.target_tokens
        progress.seconds += time.perf_counter() - before
        for observer in run.observers:
            observer.stepped(run, report)
