"""Keeps the run's record: one JSON line for every so many updates, every validation and every checkpoint."""

import time

from openwork.base.records import RecordWriter
from openwork.training.moments import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.step import StepReport


class RecordObserver(Observer):
    """Writes what a plot or a later reader needs; a resumed run appends, after a `started` line of its own."""

    def __init__(self, writer: RecordWriter) -> None:
        self.writer = writer
        self._tokens = 0
        self._since = 0.0

    def started(self, run: LoopState) -> None:
        self.writer.write("started", step=run.progress.step, steps=run.settings.steps)
        self._restart(run)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        self._tokens += report.target_tokens
        if report.step % run.settings.log_every == 0 or report.step == 1:
            self.writer.write(
                "step", **vars(report), epoch=run.progress.epoch, seconds=round(run.progress.seconds, 3),
                tokens_per_second=round(self._tokens / max(time.perf_counter() - self._since, 1e-9), 1),
            )  # fmt: skip
            self._restart(run)

    def validated(self, run: LoopState, validation: Validation) -> None:
        self.writer.write("validation", **vars(validation), training_seconds=round(run.progress.seconds, 3))
        self._since += validation.seconds  # it comes before the record of its update, and is none of its time

    def finished(self, run: LoopState) -> None:
        progress = run.progress
        self.writer.write(
            "finished", step=progress.step, reason=run.stop_reason or "all updates made",
            seconds=round(progress.seconds, 3), target_tokens=progress.target_tokens,
        )  # fmt: skip

    def _restart(self, run: LoopState) -> None:
        self._tokens = 0
        self._since = time.perf_counter()
