"""`openwork train --check-resume`: a training, killed and restarted, must give the same state as one undisturbed.

The training makes some updates, writes a checkpoint, makes as many updates again, and writes a second checkpoint. There
the process ends as by a power cut, the second checkpoint is moved away, and the same training is run again: it begins
at the first checkpoint and must write the second one again with the same numbers.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from openwork.base.config import to_toml
from openwork.base.errors import ConfigError, OpenworkError
from openwork.base.files import atomic_write_text
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.base.records import read_records
from openwork.machine.device import choose_device
from openwork.models.weights import read_tensors
from openwork.runs.file.resolve import resolve
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.train import train_bundle
from openwork.training.checkpoint import MOVING_AVERAGE, OPTIMISER, STATE, WEIGHTS, checkpoint_step, path_of
from openwork.training.loop import LoopState, Observer

UPDATES = 3  # before the first checkpoint, and again before the second
SENTENCES = 8  # that the validations at the checkpoints translate
GPU_TOLERANCE = 1e-3  # greatest relative difference there: its sums are added up in no fixed order
KILLED = 75  # exit status of the child where the second checkpoint is written
CHILD = "import sys; from openwork.runs.check_resume import train_until_killed; train_until_killed(*sys.argv[1:])"


@dataclass(frozen=True)
class StateDifference:
    """The difference of one part of a training's state, undisturbed and resumed; 0 for bit by bit the same."""

    name: str
    difference: float
    allowed: float

    @property
    def holds(self) -> bool:
        return self.difference <= self.allowed


def check_resume(settings: RunSettings, report: Callable[[str], None]) -> list[StateDifference]:
    """What a training by these settings is after a kill and a restart, compared with one that was left alone."""
    if settings.training.steps <= 2 * UPDATES:
        raise ConfigError(
            f"training.steps is {settings.training.steps}: too few to stop and go on",
            hint=f"the check makes {2 * UPDATES} updates; give more",
            code="C041",
        )
    training = settings.training
    early = training.model_copy(  # records each update and writes checkpoints soon: neither changes a weight
        update={
            "validate_every": UPDATES, "validation_sentences": min(SENTENCES, training.validation_sentences),
            "log_every": 1, "tensorboard": False,
        }
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="openwork-check-resume-") as place:
        run_file, out, folder = Path(place) / "run.toml", Path(place) / "run", RunFolder(Path(place) / "run")
        atomic_write_text(run_file, to_toml(settings.model_copy(update={"training": early})))
        report(f"training without a disturbance for {2 * UPDATES} updates")
        _train_and_kill(run_file, out)
        second, aside = path_of(folder.checkpoints, 2 * UPDATES), Path(place) / "undisturbed"
        second.rename(aside)
        report(f"killed; restarting at the checkpoint of update {UPDATES}")
        _train_and_kill(run_file, out)
        records = list(read_records(folder.records))
        return list(_compare(aside, second, records, 0.0 if choose_device().type == "cpu" else GPU_TOLERANCE))


def resume_lines(found: Sequence[StateDifference]) -> Iterator[str]:
    for one in found:
        if one.difference == 0:
            verdict = msg("the same, bit for bit")
        elif one.holds:
            verdict = msg(f"apart by {one.difference:.1e} of the greatest number; up to {one.allowed:.0e} is rounding")
        else:
            verdict = msg(f"NOT the same, apart by {one.difference:.1e} of the greatest number")
        yield Joined(one.name, AsIs(": "), verdict)
    if all(one.holds for one in found):
        yield msg("a training that is killed and run again goes on as if nothing had happened")
    else:
        yield msg("a training that is killed and run again would become another one: please report this")


class KillingObserver(Observer):
    """Ends the process at once, as a power cut does, when the second checkpoint is written."""

    def saved(self, run: LoopState, folder: Path) -> None:
        if checkpoint_step(folder) == 2 * UPDATES:
            os._exit(KILLED)


def train_until_killed(run_file: str, out: str) -> None:
    """What the child process does."""
    try:
        train_bundle(resolve(Path(run_file), [], {}, print).settings, Path(out), print, [KillingObserver()])
    except OpenworkError as error:
        sys.exit(str(error))


def _train_and_kill(run_file: Path, out: Path) -> None:
    """Trains until the second checkpoint is whole, in a process that ends there."""
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-c", CHILD, str(run_file), str(out)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        if done.returncode != KILLED:
            output.seek(0)
            lines = output.read().decode("utf-8", errors="replace").strip().splitlines()
            raise OpenworkError(
                f"the training ended before update {2 * UPDATES}",
                why=" / ".join(lines[-3:]),
                hint="train without --check-resume until that is mended",
                code="E012",
            )


def _compare(
    undisturbed: Path, resumed: Path, records: Sequence[dict[str, Any]], allowed: float
) -> Iterator[StateDifference]:
    yield StateDifference("weights", _apart(undisturbed / WEIGHTS, resumed / WEIGHTS), allowed)
    yield StateDifference("memory of the optimiser", _apart(undisturbed / OPTIMISER, resumed / OPTIMISER), allowed)
    if (undisturbed / MOVING_AVERAGE).is_file():
        yield StateDifference("moving average", _apart(undisturbed / MOVING_AVERAGE, resumed / MOVING_AVERAGE), allowed)
    places = [json.loads((path / STATE).read_text(encoding="utf-8"))["progress"] for path in (undisturbed, resumed)]
    keys = ("step", "epoch", "batch", "target_tokens")
    yield StateDifference("place in the data", float(any(places[0][key] != places[1][key] for key in keys)), 0.0)
    steps = [one for one in records if one["kind"] == "step" and UPDATES < one["step"] <= 2 * UPDATES]
    again = {one["step"]: one["loss"] for one in steps}  # after the restart; before the kill:
    first = {one["step"]: one["loss"] for one in reversed(steps)}
    apart = max(abs(first[step] / again[step] - 1) for step in again)
    yield StateDifference("losses", apart, allowed)


def _apart(undisturbed: Path, resumed: Path) -> float:
    """The greatest difference of any tensor, relative to its greatest number; infinite if they are not alike at all."""
    one, other = read_tensors(undisturbed), read_tensors(resumed)
    if one.keys() != other.keys():
        return float("inf")
    worst = 0.0
    for name, tensor in one.items():
        if not torch.equal(tensor, other[name]):
            size = max(float(tensor.abs().max()), torch.finfo(torch.float32).tiny)
            worst = max(worst, float((tensor.double() - other[name].double()).abs().max()) / size)
    return worst
