"""kill -9 at random moments, then the same command again: the very weights of a run that nobody disturbed."""

import json
import random
import signal
import time
from pathlib import Path

import pytest

from faults.nursery import Child, Nursery
from journeys.command import PATIENCE, run_file, start
from openwork.base.records import read_records

# Updates after which a process is killed, counted from its start. Checkpoints come every five, so the later kills meet
# runs that go on. Counted in updates, the same on a busy machine.
KILLS = (2, 8, 31, 17)


def updates(out: Path) -> int:
    """How many updates all processes have made in this run, as far as is recorded."""
    records = out / "records.jsonl"
    return sum(record["kind"] == "step" for record in read_records(records)) if records.is_file() else 0


def kill_before_it_begins(settings: Path, out: Path, chance: random.Random) -> None:
    """Kills a process that loads what it needs, or has just done so."""
    process = start("train", settings, "--out", out)
    time.sleep(chance.uniform(0.0, 3.0))
    process.kill()
    process.communicate(timeout=PATIENCE)


def kill_after(count: int, child: Child, out: Path, chance: random.Random) -> bool:
    """Kills somewhere within the work that follows so many updates; False if the run had ended already."""
    wanted = updates(out) + count
    child.wait_until(lambda: updates(out) >= wanted)
    time.sleep(chance.uniform(0.0, 0.05))
    child.kill()
    return child.wait().code == -signal.SIGKILL


@pytest.mark.slow
def test_killed_five_times_and_resumed_gives_the_same_weights(nursery: Nursery, tmp_path: Path):
    settings = run_file(tmp_path, steps=250, validate_every=5, validation_sentences=0, average=3, log_every=1)
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    reference = nursery.run("train", settings, "--out", whole)
    assert reference.code == 0, reference.err

    chance = random.Random(20240229)
    kill_before_it_begins(settings, torn, chance)
    kills = [kill_after(count, nursery.start("train", settings, "--out", torn), torn, chance) for count in KILLS]
    assert all(kills), "the run had ended before it was killed: make it longer"
    resumed = nursery.run("train", settings, "--out", torn)
    assert resumed.code == 0, resumed.err
    assert "continuing after update" in resumed.err
    assert "passed over" not in resumed.err  # no half checkpoint ever stands under its name

    for name in ("weights.safetensors", "tokenizer.json", "config.toml", "golden.json"):
        assert (torn / "bundle" / name).read_bytes() == (whole / "bundle" / name).read_bytes(), name
    text = (torn / "records.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    records = [json.loads(line) for line in text.splitlines()]
    assert sum(record["kind"] == "started" for record in records) >= 2
    assert records[-1]["kind"] == "finished"
    names = {path.name for path in torn.iterdir()}
    assert names - {".lock"} == {"bundle", "checkpoints", "records.jsonl", "run.toml", "stores", "tokenizers"}
    leftovers = [path for path in torn.rglob("*") if path.name.endswith((".partial", ".old"))]
    assert leftovers == []
