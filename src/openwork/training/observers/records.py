"""Keeps the run's record: one JSON line for every so many updates, every validation and every checkpoint."""

import importlib.util
import time
from pathlib import Path
from typing import Any

from openwork.base.errors import ConfigError
from openwork.base.records import RecordWriter
from openwork.training.loop import LoopState, Observer
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


class TensorBoardObserver(Observer):
    """Needs the extra `tensorboard`; ConfigError at once when it is not installed, before any work is done."""

    def __init__(self, folder: Path) -> None:
        if importlib.util.find_spec("tensorboard") is None:
            raise ConfigError(
                "training.tensorboard = true needs TensorBoard, which is not installed",
                hint="pip install tensorboard (the extra tensorboard), or set training.tensorboard = false",
                code="C064",
            )
        self.folder = folder
        self._writer: Any = None

    def started(self, run: LoopState) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # What a process that was killed wrote of updates that now come again is hidden.
        step = run.progress.step
        self._writer = SummaryWriter(str(self.folder), purge_step=step + 1 if step else None)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step % run.settings.log_every == 0 or report.step == 1:
            for name in ("loss", "likelihood", "gradient_norm", "learning_rate", "target_tokens"):
                self._writer.add_scalar(f"training/{name}", getattr(report, name), report.step)

    def validated(self, run: LoopState, validation: Validation) -> None:
        for name, value in vars(validation).items():
            if name not in ("step", "seconds") and isinstance(value, int | float):
                self._writer.add_scalar(f"validation/{name}", value, validation.step)
        if validation.sample:
            source, reference, translation = validation.sample
            text = f"    {source}\n    {reference}\n    {translation}"  # indented: no markdown in it is obeyed
            self._writer.add_text("validation/sample", text, validation.step)
        self._writer.flush()

    def closed(self, run: LoopState) -> None:
        if self._writer is not None:
            self._writer.close()
