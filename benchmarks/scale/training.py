"""Real trainings by the command `openwork train RUN --processes N`, and the seconds of their updates."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from openwork.base.records import read_records
from openwork.cost.cost import cost_of
from openwork.data.batching import BatchPlan
from openwork.data.store import TokenStore
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.text.pair import TokenizerPair
from scale.replay import Update, updates_of

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
WARM_UP = 5  # updates at the beginning that are not counted
# Nothing but updates, each with a record of its own; one thread computes in each process.
SETTINGS = (
    "validation_sentences=0", "metric=loss", "average=1", "log_every=1", "cooldown=0", "compile=off", "prefetch=0",
)  # fmt: skip


class TrainingFailed(Exception):
    """A training that ended with an error, and the last lines that it wrote."""


@dataclass(frozen=True)
class Timed:
    """A finished training: its folder, and the seconds of each of its updates."""

    folder: RunFolder
    seconds: tuple[float, ...]

    @property
    def settings(self) -> RunSettings:
        settings = self.folder.read_settings()
        assert settings is not None, "a run that has ended has settings"
        return settings

    @property
    def weights(self) -> int:
        """Of the model."""
        pair = TokenizerPair.load(self.folder.tokenizers)
        return cost_of(self.settings.model, pair.source.vocabulary_size, pair.target.vocabulary_size).weights

    @property
    def seconds_an_update(self) -> float:
        """Without the first ones."""
        counted = self.seconds[WARM_UP:]
        return sum(counted) / len(counted)

    def updates(self, processes: int) -> list[tuple[Update, ...]]:
        """What each of so many processes computes in these updates."""
        settings, store = self.settings, TokenStore.open(self.folder.stores / "train")
        training = settings.training
        versions = settings.text.samplings if settings.text.sampling > 0 else 1
        plan = BatchPlan.of(store, settings.batches, training.seed, versions)
        return list(islice(updates_of(plan, processes, 1, training.accumulate), len(self.seconds)))


def command(run: Path, out: Path, processes: int, settings: Sequence[str]) -> list[str]:
    """The command line; one process is the command as it always was."""
    several = ["--processes", str(processes)] if processes > 1 else []
    chosen = [word for setting in settings for word in ("--set", setting)]
    return [sys.executable, "-m", "openwork", "train", str(run), "--out", str(out), *several, *chosen]


def start(run: Path, out: Path, processes: int, updates: int, *settings: str) -> subprocess.Popen[str]:
    """Starts a training of so many updates in a folder of its own, with one worker and one thread a process."""
    chosen = [f"training.{setting}" for setting in SETTINGS]
    chosen += [f"training.steps={updates}", f"training.validate_every={updates}", f"training.workers={processes}"]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "OPENWORK_LANG": "en"}
    words = command(run, out, processes, [*chosen, *settings])
    return subprocess.Popen(words, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(training: subprocess.Popen[str], out: Path) -> Timed:
    """Waits for the end of a training that was started, and reads its records. `TrainingFailed` says why it failed."""
    _, said = training.communicate()
    if training.returncode:
        raise TrainingFailed(f"{out}: exit code {training.returncode}: " + " / ".join(said.splitlines()[-20:]))
    folder = RunFolder(out)
    ends = [record["seconds"] for record in read_records(folder.records) if record["kind"] == "step"]
    return Timed(folder, tuple(end - before for before, end in pairwise([0.0, *ends])))


def train(run: Path, out: Path, processes: int, updates: int, *settings: str) -> Timed:
    """One training, from its start to its end."""
    return finish(start(run, out, processes, updates, *settings), out)
