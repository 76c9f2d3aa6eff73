"""Training with openwork: `train_bundle`, as `openwork train` calls it, watched update by update."""

import tempfile
import time
from pathlib import Path
from typing import Any

import speaking

from openwork.base.config import read_run
from openwork.runs.file.resolve import resolve_run
from openwork.runs.train import train_bundle
from openwork.training.loop import LoopState, Observer
from openwork.training.step import StepReport


class Enough(Exception):
    """All updates that were wanted are made; what a training does at its end is not measured."""


class Watch(Observer):
    """Tells the harness of each update."""

    def __init__(self) -> None:
        self._since = 0.0

    def started(self, run: LoopState) -> None:
        self._since = time.perf_counter()

    def stepped(self, run: LoopState, report: StepReport) -> None:
        now = time.perf_counter()
        speaking.tell_update(report.target_tokens, now - self._since)
        if report.step == run.settings.steps - 1:
            speaking.tell("facts", loss=report.loss)
            raise Enough
        self._since = time.perf_counter()


def main() -> None:
    request = speaking.hear()
    updates = request["updates"]
    wanted: dict[str, Any] = {
        "training.steps": updates + 1,  # the end of a training is validated and saved: it is not reached
        "training.seed": request["seed"],
        "training.precision": request["precision"],
        "training.validate_every": updates + 1,
        "training.log_every": updates + 1,
    }
    assignments = [f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}" for key, value in wanted.items()]
    settings = resolve_run(read_run(Path(request["run_file"]), [*request["assignments"], *assignments], {}))
    with tempfile.TemporaryDirectory() as folder:
        try:
            train_bundle(settings, Path(folder), lambda line: None, [Watch()])
        except Enough:
            speaking.tell_end()


main()
