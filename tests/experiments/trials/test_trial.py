"""One trial: what comes of errors, and models that heads are removed from."""

from pathlib import Path
from typing import Any

import pytest

from experiments.samples import HEAD, write_experiment
from journeys.command import TINY
from openwork.base.config import read_run_file
from openwork.base.errors import OpenworkError
from openwork.experiments.claims import Claims, Work
from openwork.experiments.file import read_experiment
from openwork.experiments.folder import ExperimentFolder
from openwork.experiments.result import TrialResult
from openwork.experiments.trials import trial
from openwork.experiments.trials.trial import TrialRunner
from openwork.runs.file.resolve import resolve_run
from openwork.runs.train import train_bundle

FACTORS = HEAD.format(kind="factors", more="").replace("[1, 2]", "[1]") + '[[variants]]\nname = "one"\n'


def runner_of(path: Path, folder: Path) -> TrialRunner:
    experiment, place = read_experiment(path), ExperimentFolder(folder)
    place.begin(experiment, experiment.base)
    return TrialRunner(read_experiment(place.settings_file), place)


def taken(claims: Claims) -> Work:
    found = claims.next()
    assert isinstance(found, Work)
    return found


def first_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> TrialResult | None:
    """What comes of a trial whose training ends with the error."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    runner = runner_of(write_experiment(tmp_path, FACTORS), tmp_path / "out")
    monkeypatch.setattr(trial, "train_bundle", fail)
    return runner.carry_out(taken(runner.claims))


@pytest.mark.parametrize(
    ("error", "code", "what"),
    [
        (OpenworkError("a reason", why="a cause", hint="", code="E001"), "E001", "a reason"),
        (ZeroDivisionError("by nothing"), "E008", "unexpected ZeroDivisionError: by nothing"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "E007", "not enough memory"),
    ],
)
def test_an_error_is_the_result_of_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, what: str
):
    result = first_result(tmp_path, monkeypatch, error)
    assert result is not None and result.state == "failed" and result.figure is None
    assert result.problem is not None and (result.problem.code, result.problem.what) == (code, what)
    folder = ExperimentFolder(tmp_path / "out")
    assert folder.board().results == {1: result} and not folder.trial(1).is_held
    assert (folder.trial(1).path / "traceback.txt").exists() is (code != "E001")
    assert Claims(read_experiment(folder.settings_file), folder).next() is None, "it is not tried again"


def test_a_storage_that_fails_is_no_fault_of_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(OpenworkError):
        first_result(tmp_path, monkeypatch, OpenworkError("locked", code="E047"))
    folder = ExperimentFolder(tmp_path / "out")
    assert folder.board().results == {} and not folder.trial(1).is_held


@pytest.mark.slow
def test_heads_of_a_model_whose_data_have_changed(tmp_path: Path):
    """The vocabulary that its run's data give now is another."""
    (tmp_path / "run.toml").write_text(TINY, encoding="utf-8")
    train_bundle(resolve_run(read_run_file(tmp_path / "run.toml")), tmp_path / "run", lambda line: None)
    (tmp_path / "run" / "run.toml").write_text(TINY.replace("[text]", '[text]\nkind = "characters"'), encoding="utf-8")
    text = HEAD.format(kind="heads", more="").partition("[budget]")[0].replace("base.toml", "run")
    runner = runner_of(write_experiment(tmp_path, text), tmp_path / "out")
    result = runner.carry_out(taken(runner.claims))
    assert result is not None and result.problem is not None and result.problem.code == "C141"
