"""Training from Python."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openwork.api.models import TrainedModel, load
from openwork.api.running import assignments_of, run_training
from openwork.api.texts import as_path, reported
from openwork.base.errors import UsageError
from openwork.base.messages import find_language
from openwork.inspection.page import in_a_frame
from openwork.runs.compared.comparison import runs_page
from openwork.runs.compared.found import read_runs
from openwork.runs.file.resolve import resolve
from openwork.training.progress import Validation

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Run:
    """A finished training: its folder, the number of updates, and the validations."""

    path: Path
    steps: int
    validations: Sequence[Validation]

    def load(self) -> TrainedModel:
        """The trained model."""
        return load(self.path)

    def __repr__(self) -> str:
        last = f", validation loss {self.validations[-1].loss:.3f}" if self.validations else ""
        return f"Run('{self.path}', {self.steps:,} updates{last})"

    def _repr_html_(self) -> str:
        """Its curves, settings and samples; `openwork runs` shows several runs."""
        return in_a_frame(runs_page(read_runs([self.path]), find_language(os.environ)))


def train(
    run_file: PathLike | None = None,
    *,
    out: PathLike,
    source: PathLike | None = None,
    target: PathLike | None = None,
    corpus: str | None = None,
    set: Mapping[str, Any] | None = None,
    minutes: float | None = None,
    progress: bool = True,
) -> Run:
    """Trains a model on sentence pairs and writes it to the folder `out`; an unfinished run there is continued.

    Args:
        run_file: a run file (TOML) or the name of a recipe; by default settings are chosen from the data.
        out: the folder of the run.
        source: a file of source sentences, one a line.
        target: their translations, one a line.
        corpus: the name of a known corpus instead of two files.
        set: settings by their keys, such as `{"model.width": 256, "training.steps": 2000}`;
            `{"fine_tuning.from_bundle": "en-de"}` starts from a trained model.
        minutes: about how long to train.
        progress: show on standard error how far it is.

    In a script that torchrun starts, all processes train together.

    UsageError, ConfigError or DataError for mistakes in the arguments, the settings or the data. Ctrl-C saves the run
    and raises KeyboardInterrupt.

    >>> run = openwork.train(corpus="copy", out=folder / "run", set=tiny, progress=False)
    >>> run.steps
    2
    """
    if run_file is None and corpus is None and (source is None or target is None):
        raise UsageError(
            "there is nothing to train on", hint="give source and target, a corpus, or a run file", code="U040"
        )
    folder, files = as_path(out), {"source": source, "target": target}
    data = {key: str(as_path(file)) for key, file in files.items() if file is not None}
    if corpus is not None:
        data["corpus"] = corpus
    given: dict[str, Any] = {"data": data} if data else {}
    report = reported(progress=progress)
    settings = resolve(None if run_file is None else as_path(run_file), assignments_of(set), given, report).settings
    progressed = run_training(settings, folder, minutes, progress=progress)
    return Run(folder, progressed.step, tuple(progressed.validations))
