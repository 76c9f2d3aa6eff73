"""`openwork train --profile`: what it says, and that it leaves everything as it was."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from journeys.command import Finished, run_file, told, tree
from openwork.cost.cost import cost_of
from openwork.machine.precision import matrix_rate
from openwork.runs import profile as profiling
from openwork.runs.file.settings import RunSettings
from openwork.training.batches.language_modelling import Masking
from openwork.training.computing.time_division import GROUPS

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "matrix_rate", lambda precision, device: 1e12)
    monkeypatch.setattr(profiling, "TIMED", 2)
    monkeypatch.setattr(profiling, "RECORDED", 2)


@pytest.mark.usefixtures("quick")
def test_the_command(call: Call, tmp_path: Path):
    path = run_file(tmp_path)
    done = call("train", path, "--profile")
    assert done.code == 0, done.err
    text = done.out.decode()
    assert "target tokens a second" in text and "of the 1e+12 operations a second" in text
    table = text.split("where the time of an update goes:\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == len(GROUPS) and all(any(f" {group}" in line for line in table) for group in GROUPS)
    shares = [float(line.split("%")[0]) for line in table]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(100, abs=1)
    assert set(tree(tmp_path)) == {"run.toml", ".stdin"}


@pytest.mark.usefixtures("quick")
def test_the_values(call: Call, tmp_path: Path):
    found = json.loads(call("train", run_file(tmp_path, precision='"bfloat16"'), "--profile", "--json").out)
    assert found["precision"] == "bfloat16" and found["updates"] == {"timed": 2, "recorded": 2}
    assert list(found["groups"]) == list(GROUPS)
    assert sum(group["share"] for group in found["groups"].values()) == pytest.approx(1)
    assert found["share_waiting_for_data"] == found["groups"]["waiting for data"]["share"] > 0
    assert found["flops_per_second"] == found["flops_per_target_token"] * found["target_tokens_per_second"]
    assert found["share_of_limit"] == found["flops_per_second"] / 1e12
    for group in found["groups"].values():
        assert sum(group["operators"].values()) <= group["seconds_an_update"] * 1.001


@pytest.mark.usefixtures("quick")
def test_a_run_lends_its_data_and_stays_as_it_is(call: Call, tmp_path: Path):
    path, out = run_file(tmp_path), tmp_path / "run"
    assert call("train", path, "--out", out, "--set", "training.steps=4").code == 0
    before = tree(out)
    for arguments in ((path,), ()):  # the run file of a run need not be given again
        done = call("train", *arguments, "--profile", "--json", "--out", out)
        assert done.code == 0 and f"data: as prepared in {out}" in done.err, done.err
        assert json.loads(done.out)["target_tokens_per_second"] > 0
    assert tree(out) == before
    told(call("train", "--profile", "--out", tmp_path / "nothing"), 3, "there is no run to profile")
    told(call("train", path, "--profile", "--plan"), 2, "are different answers")


def test_operations_are_those_of_the_cost_model():
    """R-Drop reads each batch twice."""
    settings = RunSettings.model_validate({"data": {"corpus": "copy"}})
    cost = cost_of(settings.model, 100, source_length=7.5, target_length=5.0)
    updates = profiling.Updates((), 2.0)

    class Timed(profiling.Updates):
        target_tokens = 100  # type: ignore[assignment]

    def profile(r_drop: float) -> profiling.StepProfile:
        training = settings.training.model_copy(update={"r_drop": r_drop})
        changed = settings.model_copy(update={"training": training})
        return profiling.StepProfile(changed, "cpu", 1, 1e9, cost, Timed((), 2.0), updates, None)  # type: ignore[arg-type]

    assert profile(0.0).flops_per_second == 50 * cost.training_flops
    assert profile(1.0).flops_per_second == 100 * cost.training_flops
    assert profile(0.0).share_of_limit == 50 * cost.training_flops / 1e9


class Clock:
    """A machine that multiplies 256-cubed matrices in a given time, and others at the same rate; it notes sizes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.seconds, self.sizes = 0.0, seconds, []
        monkeypatch.setattr(torch, "mm", self.multiply)
        monkeypatch.setattr("openwork.machine.precision.time.perf_counter", lambda: self.now)

    def multiply(self, left: torch.Tensor, right: torch.Tensor) -> None:
        self.sizes.append(left.shape[0])
        self.now += self.seconds * (left.shape[0] / 256) ** 3


def test_the_matrix_rate_counts_two_operations_a_multiplication(monkeypatch: pytest.MonkeyPatch):
    clock = Clock(monkeypatch, 0.0001)
    assert matrix_rate("float32", torch.device("cpu"), seconds=1.0) == pytest.approx(2 * 256**3 / 0.0001)
    assert clock.now <= 1.0 and set(clock.sizes) == {256, 512, 1024, 2048}


def test_a_slow_number_type_is_measured_by_small_products(monkeypatch: pytest.MonkeyPatch):
    """At 0.14 s for the smallest product the largest would take 70 s."""
    clock = Clock(monkeypatch, 0.14)
    assert matrix_rate("bfloat16", torch.device("cpu"), seconds=0.5) == pytest.approx(2 * 256**3 / 0.14)
    assert clock.now <= 0.5 and set(clock.sizes) == {256}


@pytest.mark.usefixtures("quick")
def test_it_measures_the_batches_that_a_training_makes(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of masked pieces, too: only the masked ones are targets."""
    seen, make_updates = [], profiling.make_updates

    def watched(updater: Any, stream: Any, *more: Any) -> Any:
        seen.append(stream.arrange)
        return make_updates(updater, stream, *more)

    monkeypatch.setattr(profiling, "make_updates", watched)
    changes = ("model.kind=encoder", "model.task=fill", "training.metric=loss", "text.shared=true")
    path = tmp_path / "run.toml"
    path.write_text('[data]\ncorpus = "copy"\ncount = 60\n\n[training]\nsteps = 9\n')
    options = [word for change in (*changes, "model.width=16", "model.heads=2") for word in ("--set", change)]
    done = call("train", path, *options, "--profile", "--json")
    assert done.code == 0, done.err
    assert seen and all(isinstance(one, Masking) for one in seen)
