"""SIGTERM and a closed terminal in every phase: a training saves or clears up, and says how to go on."""

import shutil
import signal
from pathlib import Path

import pytest

from faults.runs import AGAIN, LONG, PATIENCE, Undisturbed, some

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]
GRACE = 20  # seconds: an update, a validation and a checkpoint of this small model, on a busy machine


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGTERM twice"])
def test_at_each_operation(whole: Undisturbed, tmp_path: Path, name: str):
    """Preparing, training, saving, choosing, writing the bundle."""
    every = 1 if name == "SIGTERM" else 4
    for number in some(len(whole.operations), 3)[::every] if LONG else some(len(whole.operations), 2):
        out = tmp_path / f"run {number}"
        ended = whole.start_again(out, ["at_operation", out, number, name])
        where = f"{number}: {whole.operations[number]}\n{ended.err}"
        assert "Traceback" not in ended.err and "mistake" not in ended.err, where
        if ended.code:
            assert ended.code == 130 and AGAIN in ended.err, where
        if (out / "bundle").exists():
            whole.is_the_same(out)
        else:
            assert ended.code == 130, where
            whole.comes_to_the_same(out)
        shutil.rmtree(out)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_in_the_midst_of_updates(whole: Undisturbed, tmp_path: Path, number: signal.Signals):
    out = tmp_path / "run"
    child = whole.nursery.start("train", whole.settings, "--set", "training.steps=1000000", "--out", out)
    child.wait_until(lambda: "step=2 " in child.said())
    child.kill(number)
    ended = child.wait(GRACE)
    assert ended.code == 130 and "saved after update" in ended.err and AGAIN in ended.err, ended.err


def test_a_terminal_that_is_closed_is_of_no_concern_under_nohup(whole: Undisturbed, tmp_path: Path):
    out = tmp_path / "run"
    ended = whole.start_again(out, ["ignore", "SIGHUP"], ["at_operation", out, len(whole.operations) // 2, "SIGHUP"])
    assert ended.code == 0, ended.err
    whole.is_the_same(out)
