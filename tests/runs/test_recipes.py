"""Recipes are found by name from any folder; a path that exists comes first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told
from openwork.base.config import read_run_file
from openwork.base.errors import ConfigError
from openwork.runs.file.recipes import find_run_file, recipe_lines, recipes, recipes_by_name

REPOSITORY = Path(__file__).resolve().parents[2]
Call = Callable[..., Finished]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_recipe_has_a_name():
    found = {path.relative_to(REPOSITORY / "recipes") for path in (REPOSITORY / "recipes").rglob("*.toml")}
    assert {f"{name}.toml" for name in recipes_by_name()} == {path.as_posix() for path in found}
    assert {"copy", "multi30k-en-de", "family/dates"} <= set(recipes_by_name())
    assert {"demo", "copy", "multi30k-en-de"} <= {path.stem for path in recipes()}


def test_a_name_stands_for_its_file():
    assert find_run_file(Path("multi30k-en-de")) == recipes_by_name()["multi30k-en-de"]
    assert read_run_file(find_run_file(Path("paper-big-wmt14-en-fr"))).mapping["model"]["preset"]  # from its base


@pytest.mark.parametrize("command", ["train --out x", "config check", "config show"])
def test_an_experiment_is_no_run(call: Call, command: str):
    refused = call(*command.split(), "experiments/heads")
    told(refused, 3, "C143", "this is an experiment", "openwork experiment run experiments/heads")


def test_a_path_that_exists_comes_first(tmp_path: Path):
    (tmp_path / "copy").write_text("")
    (tmp_path / "reverse").symlink_to("nowhere")
    assert find_run_file(Path("copy")) == Path("copy") and find_run_file(Path("reverse")) == Path("reverse")


@pytest.mark.parametrize(
    ("name", "near"),
    [("multi30k-en-dee", "multi30k-en-de or "), ("recipes/copy.toml", "mean copy?"), ("dates", "family/dates")],
)
def test_an_unknown_name_is_told_the_nearest(name: str, near: str):
    with pytest.raises(ConfigError, match="no such run file and no recipe") as caught:
        find_run_file(Path(name))
    assert caught.value.hint is not None and near in caught.value.hint


@pytest.mark.parametrize("name", ["run.toml", "qqq", "a" * 5000, "q\0q"])
def test_what_is_like_no_recipe_is_left_alone(name: str):
    assert find_run_file(Path(name)) == Path(name)


def test_lines_fit_the_terminal_and_say_what_each_is():
    lines = recipe_lines()
    assert len(lines) == len(recipes_by_name()) and max(map(len, lines)) <= 104
    assert all(len(line.split()) > 4 for line in lines)


@pytest.mark.slow
def test_commands_take_the_name(call: Call):
    shown = call("config", "show", "reverse", "--origin")
    assert shown.code == 0 and 'corpus = "reverse"' in shown.out.decode()
    assert call("config", "check", "reverse").code == 0
    assert call("train", "reverse", "--plan").code == 0
    refused = call("train", "revers", "--out", "x")
    assert refused.code != 0 and "did you mean reverse" in refused.err
    assert "multi30k-en-de" in call("config", "recipes").out.decode()
