"""A run is stopped, used, made shorter, made longer, stopped again, and ended where it is: the commands of a user."""

import os
import signal
from pathlib import Path

import pytest

from faults.nursery import Nursery
from journeys.command import run_file
from openwork.base.records import read_records
from openwork.training.checkpoint import checkpoint_step, checkpoints

pytestmark = pytest.mark.slow
TEXT = b"a b c\nd e\n"


def updates(out: Path) -> bool:
    """Whether the training's own record says that it is under way."""
    records = out / "records.jsonl"
    return records.is_file() and any(record["kind"] == "step" for record in read_records(records))


def interrupted(nursery: Nursery, out: Path, *arguments: str | Path) -> int:
    """Starts a training, interrupts it after some of its updates, and gives the number of the last."""
    if out.exists():
        os.truncate(out / "records.jsonl", 0)  # so that only what this process notes is seen
    child = nursery.start("train", *arguments)
    child.wait_until(lambda: updates(out))
    child.kill(signal.SIGINT)
    ended = child.wait()
    assert ended.code == 130 and f"to end it here, at its best: openwork finish {out}" in ended.err, ended.err
    return checkpoint_step(checkpoints(out / "checkpoints")[-1])


def test_stop_use_shorten_extend_finish(nursery: Nursery, tmp_path: Path):
    out, long = tmp_path / "out", {"steps": 1_000_000, "validate_every": 20, "validation_sentences": 0}
    made = interrupted(nursery, out, run_file(tmp_path, **long, log_every=1), "--out", out)

    used = nursery.run("translate", "--bundle", out, stdin=TEXT)
    assert used.code == 0 and len(used.lines) == 2, used.err
    assert "no bundle yet; these are the weights after update" in used.err and f"of {made:,} made" in used.err

    shortened = nursery.run("train", out, "--steps", str(made + 30))
    assert shortened.code == 0, shortened.err
    assert f"this run will end after update {made + 30:,}; {made:,} are made" in shortened.err
    assert read_records(out / "records.jsonl")[-1]["step"] == made + 30
    assert nursery.run("translate", "--bundle", out, stdin=TEXT).err == ""

    further = interrupted(nursery, out, out, "--steps", "1000000")
    assert further > made + 30
    finished = nursery.run("finish", out)
    assert finished.code == 0 and f"the run has ended after update {further:,}" in finished.err, finished.err
    assert "The run ended early: its settings ask for 1,000,000 updates." in (out / "bundle/card.md").read_text()
    assert len(nursery.run("translate", "--bundle", out, stdin=TEXT).lines) == 2
