"""Searches by Optuna: samplers that are asked alike propose alike, and a storage that was lost is filled again."""

import sqlite3
from pathlib import Path

import pytest

from experiments.samples import GRID, HEAD, begun, carried_out
from openwork.base.errors import OpenworkError
from openwork.experiments.claims import Claims
from openwork.experiments.experiment import Experiment, Point
from openwork.experiments.final import write_importance
from openwork.experiments.folder import ExperimentFolder
from openwork.experiments.result import read_json
from openwork.experiments.search import studies

pytestmark = pytest.mark.slow

optuna = pytest.importorskip("optuna", reason="needs the extra experiments")

GP = pytest.param("gp", marks=pytest.mark.slow)  # Gaussian processes take seconds
SPACE = """
[space]
"training.learning_rate" = {low = 1e-4, high = 1e-1, log = true}
"model.dropout" = {low = 0.0, high = 0.4, step = 0.1}
"batches.tokens" = {low = 100, high = 400}
"model.heads" = [1, 2, 4]
"""


def search(sampler: str, trials: int = 6, more: str = "") -> str:
    return HEAD.format(kind="search", more=f'sampler = "{sampler}"\ntrials = {trials}\n{more}') + SPACE


def loss_of_rate(point: Point) -> float:
    return -abs(float(point.settings.get("training.learning_rate", 0.0)) - 0.01)


def proposals(tmp_path: Path, text: str) -> list[dict[str, object]]:
    trials = carried_out(*begun(tmp_path, text), loss_of_rate)
    return [dict(one.params) for one in trials if one.study is not None]


@pytest.mark.parametrize("sampler", ["random", "tpe", GP])
def test_proposals_are_of_the_space_and_follow_from_the_seed(tmp_path: Path, sampler: str):
    if sampler == "gp":
        pytest.importorskip("scipy", reason="needs the extra experiments")
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        found.append(proposals(tmp_path / name, search(sampler)))
    assert found[0] == found[1] and len(found[0]) == 6
    for params in found[0]:
        assert 1e-4 <= params["training.learning_rate"] <= 1e-1 and params["model.heads"] in (1, 2, 4)
        assert round(params["model.dropout"] * 10, 9) in range(5) and params["batches.tokens"] in range(100, 401)


@pytest.mark.slow
@pytest.mark.long
def test_a_model_finds_what_chance_does_not(tmp_path: Path):
    """The rate that is best is planted; models come nearer to it in as many trials."""
    best = {}
    for name in ("random", "tpe", "gp"):
        (tmp_path / name).mkdir()
        found = proposals(tmp_path / name, search(name, 24))
        best[name] = min(abs(params["training.learning_rate"] - 0.01) for params in found)
    assert best["tpe"] < best["random"] and best["gp"] < best["random"]


def test_a_space_of_few_values_is_not_gone_through_twice_before_once(tmp_path: Path):
    text = GRID.replace('"grid"', '"random"\ntrials = 3')
    found = {tuple(params.values()) for params in proposals(tmp_path, text)}
    assert len(found) == 3, "ten proposals find a new one of four"


def test_a_storage_that_was_lost_is_filled_again(tmp_path: Path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "lost").mkdir()
    whole = carried_out(*begun(tmp_path / "whole", search("tpe")), loss_of_rate)
    experiment, folder = begun(tmp_path / "lost", search("tpe"))
    first = carried_out(experiment, folder, loss_of_rate, most=3)
    folder.database.unlink()
    rest = carried_out(experiment, folder, loss_of_rate)
    assert [one.point for one in first + rest] == [one.point for one in whole]


def test_a_trial_that_only_the_storage_knows_is_none(tmp_path: Path):
    """A process was killed between asking the storage and noting the trial in the folder."""
    experiment, folder = begun(tmp_path, search("random", 3))
    carried_out(experiment, folder, loss_of_rate, most=1)
    claims = Claims(experiment, folder)
    part = claims.reached(folder.board())[0]
    study = claims.studies.open(part)
    study.ask()
    study.enqueue_trial({"model.heads": 1})
    assert len(carried_out(experiment, folder, loss_of_rate)) == 3
    states = {trial.state for trial in study.get_trials()}
    assert states == {optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL}


def test_what_came_of_a_trial_is_told_to_the_storage(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    results = iter([1.0, None, 3.0, 2.0, 1.0])
    carried_out(experiment, folder, lambda point: next(results))
    claims = Claims(experiment, folder)
    trials = claims.studies.open(claims.reached(folder.board())[0]).get_trials()
    assert [trial.value for trial in trials] == [1.0, None, 3.0, 2.0]
    assert trials[1].state == optuna.trial.TrialState.FAIL


def test_the_importance_of_settings(tmp_path: Path):
    """Only the rate decides, so it has the greatest share; with few trials nothing is said."""
    experiment, folder = begun(tmp_path, search("random", 16))
    carried_out(experiment, folder, loss_of_rate)
    write_importance(Claims(experiment, folder))
    shares = (read_json(folder.importance) or {})["base"]
    assert max(shares, key=shares.get) == "training.learning_rate" and abs(sum(shares.values()) - 1) < 1e-9
    (tmp_path / "few").mkdir()
    experiment, folder = begun(tmp_path / "few", search("random", 7))
    carried_out(experiment, folder, loss_of_rate)
    write_importance(Claims(experiment, folder))
    assert read_json(folder.importance) == {}


def opened(tmp_path: Path) -> tuple[Experiment, ExperimentFolder]:
    experiment, folder = begun(tmp_path, search("random", 3))
    carried_out(experiment, folder, loss_of_rate, most=1)
    return experiment, folder


def test_a_locked_storage_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    experiment, folder = opened(tmp_path)
    monkeypatch.setattr(studies, "PATIENCE", 0.1)
    with sqlite3.connect(folder.database) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OpenworkError, match="keeps the storage of this experiment locked") as refused:
            Claims(experiment, folder).next()
        other.rollback()
    assert refused.value.code == "E047"
    assert len(carried_out(experiment, folder, loss_of_rate)) == 3, "nothing was lost"


def test_a_damaged_storage_is_named_and_can_be_removed(tmp_path: Path):
    experiment, folder = opened(tmp_path)
    folder.database.write_bytes(b"no database at all" * 100)
    with pytest.raises(OpenworkError, match="the storage of this experiment cannot be used") as refused:
        Claims(experiment, folder).next()
    assert refused.value.code == "E048" and "remove the file" in str(refused.value.hint)
    folder.database.unlink()
    assert len(carried_out(experiment, folder, loss_of_rate)) == 3


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all.db", "postgresql://nobody@127.0.0.1:1/none", "odd"])
def test_a_storage_that_is_not_there_is_named(tmp_path: Path, url: str):
    with pytest.raises(OpenworkError) as refused:
        carried_out(*begun(tmp_path, search("random", more=f'storage = "{url}"')), loss_of_rate)
    assert refused.value.code == "E048" and "check the URL" in str(refused.value.hint)


def test_another_storage_can_be_named(tmp_path: Path):
    text = search("random", 2, f'storage = "sqlite:///{tmp_path}/shared.db"')
    experiment, folder = begun(tmp_path, text)
    assert len(carried_out(experiment, folder, loss_of_rate)) == 3
    assert (tmp_path / "shared.db").is_file() and not folder.database.exists()


def test_experiments_that_share_a_storage_know_nothing_of_each_other(tmp_path: Path):
    text, trials = search("tpe", more=f'storage = "sqlite:///{tmp_path}/shared.db"'), []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        trials.append([one.point for one in carried_out(*begun(tmp_path / name, text), loss_of_rate)])
    assert trials[0] == trials[1]
