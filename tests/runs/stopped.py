"""Tiny runs that were stopped after some of their updates."""

from pathlib import Path

from journeys.command import run_file
from openwork.base.config import read_run_file
from openwork.runs.file.resolve import resolve_run
from openwork.runs.train import train_bundle
from openwork.training.loop import LoopState, Observer
from openwork.training.observers.control import INTERRUPTED
from openwork.training.step import StepReport


class Leave(Observer):
    """Interrupts the run after an update, as a Ctrl-C would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step == self.step:
            run.stop(INTERRUPTED)


def stopped_run(folder: Path, step: int, **changes: object) -> Path:
    """The folder of a run that was stopped after update `step`; `changes` are those of its run file."""
    settings = resolve_run(read_run_file(run_file(folder, **changes)))
    assert train_bundle(settings, folder / "out", lambda text: None, [Leave(step)]).bundle is None
    return folder / "out"
