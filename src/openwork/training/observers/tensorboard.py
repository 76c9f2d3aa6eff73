"""Writes the curves of a run in TensorBoard's format, besides the run's own record."""

import importlib.util
from pathlib import Path
from typing import Any

from openwork.base.errors import ConfigError
from openwork.training.moments import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.step import StepReport


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
        figures = vars(validation).items()
        for name, value in figures:
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
