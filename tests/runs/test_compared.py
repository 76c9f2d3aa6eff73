"""Runs beside each other: what a log says of a run, the names, the settings that differ, and who reads them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from calling import Call
from journeys.command import TINY, told
from openwork.base.errors import UsageError
from openwork.runs.compared import found
from openwork.runs.compared.comparison import comparison_lines, differing
from openwork.runs.compared.found import find_runs, read_runs
from openwork.runs.compared.history import MOST_POINTS, RunHistory

SETTINGS = '[model]\nheads = {heads}\n\n[training]\nsteps = 40\nmetric = "{metric}"\n'


def step(at: int, likelihood: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "step", "step": at, "likelihood": likelihood, "loss": 2.0, "seconds": at / 10} | more


def validation(at: int, loss: float, **figures: Any) -> dict[str, Any]:
    sample = ["Ein Hund.", "A dog.", f"after {at}"]
    return {"kind": "validation", "step": at, "loss": loss, "training_seconds": at / 10, "sample": sample} | figures


def make(folder: Path, *records: Mapping[str, Any], heads: int = 4, metric: str = "bleu", end: bytes = b"") -> Path:
    """A run with this log."""
    folder.mkdir(parents=True)
    (folder / "run.toml").write_text(SETTINGS.format(heads=heads, metric=metric))
    lines = [json.dumps({"time": 1_000_000.0 + place, **record}) for place, record in enumerate(records)]
    (folder / "records.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode() + end)
    return folder


def one(path: Path) -> RunHistory:
    (history,) = read_runs([path])
    return history


def test_a_log_by_hand(tmp_path: Path) -> None:
    started = {"kind": "started", "step": 0}
    run = make(
        tmp_path / "run", {"kind": "run", "device": "cpu"}, started, step(1, 9.0), step(10, 5.0),
        validation(10, 3.0, bleu=20.0), step(20, "nan"), validation(20, 2.5, bleu=25.0),
        validation(30, 2.6, bleu=25.0), end=b'not a record\n{"kind": "step", "step": 3',
    )  # fmt: skip
    history = one(run)
    assert (history.name, history.is_finished, history.made, history.wanted) == ("run", False, 30, 40)
    assert history.settings == {"model.heads": 4, "training.steps": 40, "training.metric": "bleu"}
    assert history.curves["step"] == [1, 10, 20] and history.curves["likelihood"] == [9.0, 5.0, None]
    assert [each.figures["bleu"] for each in history.validations] == [20.0, 25.0, 25.0]
    assert history.best == history.validations[1]  # of equal ones the earlier
    assert history.validations[2].sample == ("Ein Hund.", "A dog.", "after 30")
    assert history.damaged == (9,)  # a line that is still being written is none
    assert history.updated == 1_000_007.0 and history.seconds == 2.0
    json.dumps(history.to_json(), allow_nan=False)


def test_of_a_resumed_run_the_updates_made_again_count(tmp_path: Path) -> None:
    run = make(
        tmp_path / "run", {"kind": "started", "step": 0}, step(10, 5.0), validation(10, 3.0), step(20, 4.0),
        validation(20, 2.0), {"kind": "started", "step": 10}, step(20, 4.5), metric="loss",
    )  # fmt: skip
    history = one(run)
    assert history.curves["step"] == [10, 20] and history.curves["likelihood"] == [5.0, 4.5]
    assert [each.step for each in history.validations] == [10]
    assert history.best is not None and history.best.step == 10


def test_an_unknown_metric_is_the_loss(tmp_path: Path) -> None:
    history = one(make(tmp_path / "run", validation(10, 3.0), validation(20, 4.0), metric="another"))
    assert history.metric == "loss" and history.best is not None and history.best.step == 10


def test_a_long_log_is_thinned_and_keeps_its_end(tmp_path: Path) -> None:
    count = 3 * MOST_POINTS + 2
    history = one(make(tmp_path / "run", *(step(at, 1.0) for at in range(1, count + 1))))
    steps = history.curves["step"]
    assert history.every == 4 and len(steps) <= MOST_POINTS + 1
    assert steps[:3] == [1, 5, 9] and steps[-1] == count


def test_finished_is_who_has_a_bundle_and_is_not_trained_longer(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    assert not one(run).is_finished
    (run / "bundle").mkdir()
    (run / "bundle" / "bundle.json").write_text("{}")
    assert one(run).is_finished
    (run / ".extended").touch()
    assert not one(run).is_finished


def test_runs_are_found_in_folders_and_named_by_what_differs(tmp_path: Path) -> None:
    make(tmp_path / "a" / "trials" / "1")
    make(tmp_path / "a" / "trials" / "2")
    make(tmp_path / "b" / "run")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b", target_is_directory=True)
    assert list(find_runs([tmp_path / "a"])) == ["1", "2"]
    assert list(find_runs([tmp_path])) == ["a/trials/1", "a/trials/2", "b/run"]
    named = find_runs([tmp_path / "b", tmp_path / "a", tmp_path / "b" / "run"])
    assert list(named) == ["b/run", "a/trials/1", "a/trials/2"]  # in the order of the paths, each once


@pytest.mark.parametrize("name", ["missing", "empty", "a-file"])
def test_a_folder_without_a_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a-file").write_text("text")
    with pytest.raises(UsageError) as refused:
        find_runs([tmp_path / name])
    assert refused.value.code == "U161"


def test_too_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "MOST_RUNS", 1)
    make(tmp_path / "a")
    make(tmp_path / "b")
    with pytest.raises(UsageError) as refused:
        find_runs([tmp_path])
    assert refused.value.code == "U162"


def test_the_terminal_shows_what_was_reached_and_what_differs(tmp_path: Path) -> None:
    make(tmp_path / "small", step(40, 3.0), validation(40, 2.5, bleu=25.0))
    make(tmp_path / "large", {"kind": "started", "step": 0}, heads=8)
    runs = read_runs([tmp_path / "small", tmp_path / "large"])
    assert differing(runs) == {"model.heads": [4, 8]}
    head, small, large, _, title, names, heads = comparison_lines(runs, lambda text: text)
    assert head.split() == ["state", "updates", "time", "figure", "best", "last"]
    assert small.split()[0] == "small" and small.endswith("25.00 at 40  25.00") and " 40 " in small
    assert "0 / 40" in large and large.endswith("-")
    assert (title, names.split(), heads.split()) == (
        "settings that differ:", ["small", "large"], ["model.heads", "4", "8"]
    )  # fmt: skip


def test_a_real_training_is_read(call: Call, tmp_path: Path) -> None:
    """Its log says what its settings wanted."""
    (tmp_path / "run.toml").write_text(TINY)
    assert call("train", tmp_path / "run.toml", "--out", tmp_path / "run").code == 0
    history = one(tmp_path / "run")
    assert history.is_finished and history.made == history.wanted and history.validations and history.best is not None
    assert history.settings["training.steps"] == history.wanted
    assert all(value is not None for value in history.curves["likelihood"])
    (shown,) = json.loads(call("runs", tmp_path / "run", "--json").out)
    assert shown["validations"][shown["best"]]["step"] == history.best.step


@pytest.mark.parametrize(
    ("words", "error"), [(("--open", "--json"), "U163"), (("--open", "--html", "a.html"), "U163"), (("none",), "U161")]
)
def test_what_the_command_refuses(call: Call, tmp_path: Path, words: tuple[str, ...], error: str) -> None:
    told(call("runs", make(tmp_path / "run"), *words), 2, error)
