"""Runs that are shortened, extended and ended: the weights are those of a run that had this length from the first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, run_file, told, tree
from openwork.base.config import read_run_file
from openwork.base.records import read_records
from openwork.runs.file.resolve import resolve_run
from openwork.runs.folder import RunFolder
from openwork.runs.length import MinutesBudget, Wanted, new_length
from openwork.runs.train import train_bundle
from runs.stopped import Leave, stopped_run

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
RUN = {"steps": 30, "validate_every": 4, "validation_sentences": 0, "schedule": '"constant"\ncooldown = 9'}


def undisturbed(folder: Path, **changes: object) -> Path:
    """The run of these settings, with nothing happening to it."""
    folder.mkdir()
    path = run_file(folder, **{**RUN, **changes})
    assert train_bundle(resolve_run(read_run_file(path)), folder / "out", lambda text: None).bundle
    return folder / "out"


def last_weights(run: Path) -> bytes:
    return max((run / "checkpoints").iterdir()).joinpath("weights.safetensors").read_bytes()


@pytest.mark.parametrize(("steps", "cooldown"), [(18, 5), (44, 13)])
def test_shortened_and_extended(call: Call, tmp_path: Path, steps: int, cooldown: int):
    """Stopped at 10 of 30, given another length, stopped again, and continued."""
    out = stopped_run(tmp_path, 10, **RUN)
    folder = RunFolder(out)
    before = folder.read_settings()
    assert before is not None
    length = new_length(folder, before, Wanted(before, steps=steps))
    assert length.is_exact and length.after.training.cooldown == cooldown
    assert train_bundle(length.after, out, lambda text: None, [Leave(15)], length=length).bundle is None
    done = call("train", out)
    assert done.code == 0 and "continuing after update 15" in done.err, done.err
    schedule = f'"constant"\ncooldown = {cooldown}'
    other = undisturbed(tmp_path / "other", steps=steps, schedule=schedule)
    for name in ("weights.safetensors", "golden.json", "config.toml"):
        assert (out / "bundle" / name).read_bytes() == (other / "bundle" / name).read_bytes()
    assert last_weights(out) == last_weights(other)
    assert read_run_file(out / "run.toml").mapping == read_run_file(other / "run.toml").mapping
    (record,) = [one for one in read_records(out / "records.jsonl") if one["kind"] == "changed"]
    assert (record["step"], record["exact"]) == (10, True) and f"training.steps: 30 -> {steps}" in record["changes"]


def test_a_finished_run_goes_on(call: Call, tmp_path: Path):
    """Without a cool-down its rates are those of a longer run; its bundle stays until there is another."""
    plain = {"schedule": '"constant"', "steps": 10}
    out = undisturbed(tmp_path / "one", **plain)
    first = tree(out / "bundle")
    folder = RunFolder(out)
    before = folder.read_settings()
    assert before is not None
    length = new_length(folder, before, Wanted(before, steps=20))
    assert length.is_exact
    assert train_bundle(length.after, out, lambda text: None, [Leave(14)], length=length).bundle is None
    assert tree(out / "bundle") == first
    done = call("train", out)
    assert done.code == 0, done.err
    other = undisturbed(tmp_path / "two", **{**plain, "steps": 20})
    assert last_weights(out) == last_weights(other)
    assert tree(out / "bundle").keys() == first.keys() and tree(out / "bundle") != first
    told(call("train", out), 1, "this run is finished", "--steps 40")


def test_what_is_said_of_it(call: Call, tmp_path: Path):
    out = undisturbed(tmp_path / "one")
    done = call("train", out, "--steps", "40")
    assert done.code == 0, done.err
    assert "this run will end after update 40; 30 are made" in done.err
    assert "its rate will fall from update 31 on" in done.err  # a cool-down of 12 in proportion, and 10 are left
    assert "will not be those of a run that began with this length" in done.err
    card = (out / "bundle/card.md").read_text()
    assert "After update 30 this was changed" in card and "the rates before belong to the former length" in card
    told(call("train", out, "--steps", "20"), 2, "has made 40 updates already", "openwork finish")


def test_only_the_length_can_change(call: Call, tmp_path: Path):
    out = stopped_run(tmp_path, 10, **RUN)
    before = tree(out)
    told(call("train", out, "--set", "model.width=32"), 3, "model.width: 16 -> 32", "only training.steps, cooldown")
    told(call("train", out, "--out", tmp_path / "x"), 2, "a run goes on in its own folder")
    told(call("train", out, "--steps", "12", "--minutes", "1"), 2, "two lengths of one run")
    told(call("train", out, "--minutes", "nan"), 2, "--minutes")
    same_command = ("train", tmp_path / "run.toml", "--out", out, "--set", "training.steps=20")
    told(call(*same_command), 3, "training.steps: 30 -> 20", "to give it another length: openwork train", "--steps 20")
    told(call("train", out, "--set", "training.steps=x"), 3, "training.steps")
    (tmp_path / "empty").mkdir()
    told(call("train", tmp_path / "empty"), 3, "there is no run")
    told(call("finish", tmp_path / "empty"), 3, "there is no run")
    assert tree(out) == before


def test_finished_where_it_was_stopped(call: Call, tmp_path: Path):
    out = stopped_run(tmp_path, 10, **RUN)
    done = call("finish", out)
    assert done.code == 0 and "the run has ended after update 10" in done.err, done.err
    assert "The run ended early: its settings ask for 30 updates." in (out / "bundle/card.md").read_text()
    assert call("translate", "--bundle", out, stdin=b"a b\n").err == ""
    told(call("finish", out), 1, "this run is finished")
    assert call("train", out).code == 0  # it may go on nevertheless, to the same end
    assert last_weights(out) == last_weights(undisturbed(tmp_path / "other"))
    assert "ended early" not in (out / "bundle/card.md").read_text()


def test_minutes_are_turned_into_updates_once(call: Call, tmp_path: Path):
    """The number is in the run's folder: the same command again, after a stop, does not measure anew."""
    path, out = run_file(tmp_path, **RUN), tmp_path / "out"
    settings = resolve_run(read_run_file(path))
    assert train_bundle(settings, out, lambda text: None, [Leave(1)], budget=MinutesBudget(0.05)).bundle is None
    (budget,) = [one for one in read_records(out / "records.jsonl") if one["kind"] == "budget"]
    then = RunFolder(out).read_settings()
    assert then is not None and then.training.steps == budget["steps"]
    done = call("train", path, "--minutes", "0.05", "--out", out)
    assert done.code == 0, done.err
    assert RunFolder(out).read_settings() == then
    records = read_records(out / "records.jsonl")
    assert [one["kind"] for one in records].count("budget") == 1 and records[-1]["step"] == budget["steps"]


def test_minutes_for_a_run_that_began_without(call: Call, tmp_path: Path):
    out = stopped_run(tmp_path, 10, **RUN)
    told(call("train", tmp_path / "run.toml", "--minutes", "1", "--out", out), 2, "did not begin with --minutes 1",
        "openwork train", "--minutes 1")  # fmt: skip
    told(call("train", out, "--plan", "--minutes", "1"), 2, "--minutes is measured when a training begins")
