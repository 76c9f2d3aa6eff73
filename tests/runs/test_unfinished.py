"""A run without a bundle, and its checkpoints, can be used as bundles can."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told, tree
from openwork.base.errors import BundleError
from openwork.bundles.bundle import load_bundle
from openwork.models.weights import model_weights
from openwork.runs.usable import usable_bundle
from openwork.training.checkpoint import load_weights
from runs.stopped import stopped_run

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
SOURCES = b"a b c\nd e\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stopped after 10 of 12 updates: checkpoints 4, 8 and 10, of which the first two were validated."""
    return stopped_run(tmp_path_factory.mktemp("stopped"), 10)


@pytest.fixture
def stopped(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "run")


def best_step(run: Path) -> int:
    """Of the checkpoint with the lowest validation loss."""
    validations = json.loads((run / "checkpoints/step-00000010/state.json").read_text())["progress"]["validations"]
    return min(validations, key=lambda one: one["loss"])["step"]


def test_a_run_is_its_best_checkpoint(call: Call, stopped: Path, tmp_path: Path):
    before, step = tree(stopped), best_step(stopped)
    checkpoint = stopped / "checkpoints" / f"step-{step:08d}"
    of_run = call("translate", "--bundle", stopped, stdin=SOURCES)
    of_checkpoint = call("translate", "--bundle", checkpoint, stdin=SOURCES)
    assert of_run.code == of_checkpoint.code == 0, of_run.err
    assert f"no bundle yet; these are the weights after update {step}, of 10 made" in of_run.err
    assert f"step-{step:08d}: the weights after update {step}" in of_checkpoint.err
    assert call("average", checkpoint, "--out", tmp_path / "mean").code == 0
    assert of_run.out == of_checkpoint.out == call("translate", "--bundle", tmp_path / "mean", stdin=SOURCES).out
    assert of_run.out.strip() and tree(stopped) == before


@pytest.mark.parametrize("step", [4, 8, 10])
def test_a_checkpoint_has_its_own_weights(stopped: Path, step: int):
    path = stopped / "checkpoints" / f"step-{step:08d}"
    found, expected = model_weights(load_bundle(usable_bundle(path)).model), load_weights(path)
    assert found.keys() == expected.keys() and all((found[name] == expected[name]).all() for name in expected)


def test_reading_a_bundle_makes_none(stopped: Path):
    with pytest.raises(BundleError, match="this run has no bundle yet"):
        load_bundle(stopped)


def test_every_command_that_takes_a_bundle_takes_the_run(call: Call, stopped: Path, tmp_path: Path):
    source, target = tmp_path / "a", tmp_path / "b"
    for path in (source, target):
        path.write_bytes(SOURCES)
    pairs = ("--source", source, "--reference", target)
    for arguments in (
        ("evaluate", "--bundle", stopped, *pairs),
        ("explain", "--bundle", stopped, "a b"),
        ("export", stopped, "--to", "hf", "--out", tmp_path / "hf"),
        ("score", "--bundle", stopped, "--source", source, "--target", target),
        ("tokenize", "--bundle", stopped),
        ("info", stopped),
        ("verify", stopped),
    ):
        done = call(*arguments)
        assert done.code == 0, (arguments, done.err)


def test_damaged_checkpoints_are_passed_over(call: Call, stopped: Path):
    step = best_step(stopped)
    (stopped / f"checkpoints/step-{step:08d}/weights.safetensors").write_bytes(b"x")
    done = call("translate", "--bundle", stopped, stdin=SOURCES)
    assert done.code == 0 and "these are the weights after update 10, of 10 made" in done.err
    for path in (stopped / "checkpoints").iterdir():
        (path / "weights.safetensors").write_bytes(b"x")
    told(call("translate", "--bundle", stopped, stdin=SOURCES), 4, "weights.safetensors is damaged")
    shutil.rmtree(stopped / "checkpoints")
    (stopped / "checkpoints").mkdir()
    told(call("translate", "--bundle", stopped, stdin=SOURCES), 4, "this run has no checkpoint yet")


def test_a_checkpoint_without_its_run(call: Call, stopped: Path, tmp_path: Path):
    shutil.copytree(stopped / "checkpoints", tmp_path / "alone/checkpoints")
    done = call("translate", "--bundle", tmp_path / "alone/checkpoints/step-00000010", stdin=SOURCES)
    told(done, 4, "has lost its run.toml", "copy the whole folder of the run")
