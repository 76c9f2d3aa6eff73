"""Whole experiments by the command line: each kind from its file to its report, as `make experiments-smoke` has it."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from experiments.samples import HEAD, write_experiment
from faults.nursery import Nursery
from journeys.command import openwork, told, tree
from openwork.base.outputs import is_run
from openwork.bundles.bundle import load_bundle

SMOKE = Path(__file__).resolve().parents[2] / "recipes" / "experiments" / "smoke"
KINDS = {"search": 5, "factors": 8, "protocol": 11, "heads": 14}  # trials
LONG = ("factors", "protocol", "search")  # the fourth has their parts
TESTED = {"search": 2, "factors": 4, "protocol": 8}  # the best of each variant and group, with both seeds

DROPOUT = '[factors]\n"model.dropout" = [0.0, 0.1]\n'

pytestmark = pytest.mark.slow


class Done(NamedTuple):
    kind: str
    folder: Path
    nursery: Nursery

    @property
    def trials(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("trials/*/trial.json"))]

    @property
    def finished(self) -> list[dict[str, Any]]:
        """Which trials a search ends early depends on the order in which two workers end them."""
        return [one for one in self.trials if self.kind != "search" or one["state"] != "pruned"]


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind in LONG)) for kind in KINDS])
def test_a_whole_experiment(nursery: Nursery, tmp_path: Path, kind: str):
    """One test of each kind, since each of them takes its trials."""
    pytest.importorskip("optuna", reason="needs the extra experiments")
    result = nursery.run("experiment", "run", SMOKE / f"{kind}.toml", "--out", tmp_path / "out")
    assert result.code == 0, result.err
    done = Done(kind, tmp_path / "out", nursery)
    every_trial_is_over_and_has_what_the_report_reads(done)
    every_training_is_an_ordinary_run_without_its_checkpoints(done)
    every_trial_has_the_same_budget(done)
    status_and_report(done)
    if kind == "heads":
        nothing_is_trained_twice(done)
    else:
        the_test_set_is_touched_once(done)
    if kind == "factors":
        the_number_of_workers_changes_no_figure(done, tmp_path / "alone")


def every_trial_is_over_and_has_what_the_report_reads(done: Done) -> None:
    trials = done.trials
    assert [one["number"] for one in trials] == list(range(1, KINDS[done.kind] + 1))
    for one in done.finished:
        assert one["state"] == "finished" and one["problem"] is None and one["metric"] == "chrf"
        assert 0 <= one["validation"]["chrf"] <= 100 and one["validation"]["loss"] > 0
        assert one["signature"] and one["machine"] and one["weights"] > 0 and one["started"] <= one["ended"]
    assert len({one["data"] for one in trials}) == len({one["tokenizers"] for one in trials}) == 1


def every_training_is_an_ordinary_run_without_its_checkpoints(done: Done) -> None:
    runs = [one for one in done.finished if not one["variant"].startswith("without head")]
    for one in runs:
        folder = done.folder / "trials" / f"{one['number']:04}"
        assert is_run(folder) and load_bundle(folder).card and not (folder / "checkpoints").exists()
    known = done.nursery.run("info", done.folder / "trials" / "0001")
    assert known.code == 0, known.err


def every_trial_has_the_same_budget(done: Done) -> None:
    fresh = [one for one in done.finished if one["copy_of"] is None and not one["variant"].startswith("without head")]
    assert all(one["processor_seconds"] > 0 for one in fresh)
    if done.kind == "search":
        assert {one["updates"] for one in fresh} == {8}
    elif done.kind == "factors":
        assert {abs(one["target_tokens"] / 900 - 1) < 0.2 for one in fresh} == {True}
    elif done.kind == "protocol":
        assert all(abs(one["flops"] / 4e8 - 1) < 0.2 for one in fresh), [one["flops"] for one in fresh]
        assert all(18_000 <= one["weights"] <= 20_000 for one in fresh), [one["weights"] for one in fresh]
    assert all(one["seconds"] == one["flops"] == 0 for one in done.trials if one["copy_of"] is not None)


def the_test_set_is_touched_once(done: Done) -> None:
    scored = sorted(int(path.parent.name) for path in done.folder.glob("trials/*/test.json"))
    touched = json.loads((done.folder / "test.json").read_text())
    assert touched["trials"] == scored and len(scored) == TESTED[done.kind] and touched["ended"] >= touched["started"]
    for number in scored:
        test = json.loads((done.folder / "trials" / f"{number:04}" / "test.json").read_text())
        lines = (done.folder / "trials" / f"{number:04}" / test["hypotheses"]).read_text().splitlines()
        assert len(lines) == len(test["sentences"]) == len(test["statistics"]) == 500
    before = tree(done.folder)
    for command in ("run", "resume"):
        again = done.nursery.run("experiment", command, done.folder)
        told(again, 1, "E050", "its test set was scored once")
    assert tree(done.folder) == before


def nothing_is_trained_twice(done: Done) -> None:
    assert not list(done.folder.glob("**/test.json"))
    before = {name: content for name, content in tree(done.folder).items() if name.startswith("trials/")}
    assert done.nursery.run("experiment", "resume", done.folder).code == 0
    assert {name: content for name, content in tree(done.folder).items() if name.startswith("trials/")} == before


def status_and_report(done: Done) -> None:
    status = done.nursery.run("experiment", "status", done.folder)
    assert status.lines[0].startswith(f"{KINDS[done.kind]} of about {KINDS[done.kind]} trials are over")
    state = json.loads(done.nursery.run("experiment", "status", done.folder, "--json").out)
    assert len(state["trials"]) == KINDS[done.kind] and (state["tested"] is None) == (done.kind == "heads")
    report = done.nursery.run("experiment", "report", done.folder)
    assert report.code == 0, report.err
    assert (done.folder / "report.html").is_file()
    command = f"openwork experiment run {SMOKE / done.kind}.toml".replace("_", r"\_")
    assert f"- command: {command}\n" in (done.folder / "report.md").read_text("utf-8"), "the way to repeat it"


def the_number_of_workers_changes_no_figure(done: Done, out: Path) -> None:
    other = done.nursery.run("experiment", "run", SMOKE / "factors.toml", "--out", out, "--workers", "2")
    assert other.code == 0, other.err
    figures = [
        {(one["variant"], str(one["settings"]), one["seed"]): one["validation"] for one in trials}
        for trials in (done.trials, Done("factors", out, done.nursery).trials)
    ]
    assert figures[0] == figures[1]


def test_failed_trials_are_shown_and_never_chosen(nursery: Nursery, tmp_path: Path):
    """Three heads are not of sixteen numbers."""
    text = HEAD.format(kind="factors", more='test = "test"\nmetric = "chrf"') + '[factors]\n"model.heads" = [2, 3]\n'
    result = nursery.run("experiment", "run", write_experiment(tmp_path, text), "--out", tmp_path / "out")
    assert result.code == 0, result.err
    trials = Done("factors", tmp_path / "out", nursery).trials
    assert [one["state"] for one in trials] == ["finished", "failed"] * 2
    assert trials[1]["problem"]["code"] and "heads" in trials[1]["problem"]["what"]
    assert json.loads((tmp_path / "out" / "test.json").read_text())["trials"] == [1, 3]
    assert (
        "4 of about 4 trials are over, 2 failed" in nursery.run("experiment", "status", tmp_path / "out").out.decode()
    )


def test_where_every_trial_fails_there_is_no_result(nursery: Nursery, tmp_path: Path):
    text = HEAD.format(kind="factors", more='test = "test"') + '[factors]\n"model.heads" = [3, 5]\n'
    result = nursery.run("experiment", "run", write_experiment(tmp_path, text), "--out", tmp_path / "out")
    told(result, 1, "E051", "none of the 4 trials has finished")
    assert not (tmp_path / "out" / "test.json").exists()


def test_a_budget_that_no_trial_fits_is_refused_before_any_trial(nursery: Nursery, tmp_path: Path):
    text = HEAD.format(kind="factors", more="").replace("updates = 4", "tokens = 3") + '[[variants]]\nname = "one"\n'
    result = nursery.run("experiment", "run", write_experiment(tmp_path, text), "--out", tmp_path / "out")
    told(result, 3, "C140", "variant one", "less than one update")
    assert not (tmp_path / "out" / "trials").exists()


def test_what_promises_little_is_ended_early(nursery: Nursery, tmp_path: Path):
    pytest.importorskip("optuna", reason="needs the extra experiments")
    text = HEAD.format(kind="search", more='sampler = "grid"\nprune = "median"\nmetric = "loss"')
    text = (
        text.replace("updates = 4", "updates = 20") + '[space]\n"training.learning_rate" = [0.03, 0.02, 0.01, 1e-9]\n'
    )
    result = nursery.run("experiment", "run", write_experiment(tmp_path, text), "--out", tmp_path / "out")
    assert result.code == 0, result.err
    trials = Done("search", tmp_path / "out", nursery).trials
    assert [one["state"] for one in trials] == ["finished"] * 3 + ["pruned", "finished"]
    assert trials[3]["validation"]["loss"] > trials[2]["validation"]["loss"] and trials[3]["updates"] < 20
    assert not list((tmp_path / "out").glob("trials/*/checkpoints"))


@pytest.mark.long
def test_workers_of_ray(nursery: Nursery, tmp_path: Path):
    if find_spec("ray") is None:
        pytest.skip("needs the extra scale")
    file, out = write_experiment(tmp_path, HEAD.format(kind="factors", more="") + DROPOUT), tmp_path / "out"
    result = openwork("experiment", "run", file, "--out", out, "--on", "ray", "--workers", "2")
    assert result.code == 0, result.err
    assert [one["state"] for one in Done("factors", out, nursery).trials] == ["finished"] * 4
