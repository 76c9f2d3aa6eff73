"""Ends a run where it is: the bundle of a training that was stopped."""

from collections.abc import Callable
from pathlib import Path

from openwork.base.errors import BundleError, ConfigError
from openwork.base.records import RecordWriter
from openwork.runs.assembly import prepare_training, settle_computing
from openwork.runs.choice import choose_weights
from openwork.runs.folder import RunFolder
from openwork.runs.train import TrainingResult, write_chosen
from openwork.training.observers.interruption import ending_like_ctrl_c


def finish_run(out: Path, say: Callable[[str], None]) -> TrainingResult:
    """Writes the bundle of the run in `out` as if its last update had been made, and makes none."""
    folder = RunFolder(out)
    settings = folder.read_settings()
    if settings is None:
        raise ConfigError(f"{out}: there is no run", hint="name the folder of a run", code="C106")
    settings, device = settle_computing(settings, folder)
    with ending_like_ctrl_c(), folder.locked(settings) as lock:
        setup, progress = prepare_training(settings, folder, device, say)
        if progress.step == 0:
            raise BundleError(
                f"{out}: this run has no checkpoint yet", hint="train longer, or name another run", code="B036"
            )
        training, model = settings.training, setup.state.model
        chosen = choose_weights(folder.checkpoints, training, model, setup.validator, progress, say)
        with RecordWriter(folder.records) as records:
            records.write(
                "finished", step=progress.step, reason="openwork finish",
                seconds=round(progress.seconds, 3), target_tokens=progress.target_tokens,
            )  # fmt: skip
        return TrainingResult(write_chosen(settings, lock, setup, chosen, progress), progress, chosen)
