"""The wheel works outside the repository: its version, its recipes by name, and messages in Chinese."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from journeys.command import PATIENCE
from journeys.pages import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the hatchling of this environment if there is one, which needs no network."""
    here = importlib.util.find_spec("hatchling") is not None
    folder = tmp_path_factory.mktemp("dist")
    options = ["--no-deps", "--disable-pip-version-check", *(["--no-build-isolation"] if here else [])]
    command = [sys.executable, "-m", "pip", "wheel", *options, "-w", str(folder), str(REPOSITORY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0 and not here:
        pytest.skip("needs hatchling, which is not installed and cannot be fetched")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("openwork-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds, beside the libraries of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_installed_program_finds_what_it_needs(installed: Path, tmp_path: Path):
    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        command = [sys.executable, "-m", "openwork", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "import openwork; print(openwork.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run([sys.executable, "-c", where], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert Path(found.stdout.strip()).is_relative_to(installed)
    assert run("--version").startswith("openwork ")
    assert "multi30k-en-de" in run("config", "recipes")
    assert 'corpus = "copy"' in run("config", "show", "copy")
    assert "108,800" in run("train", "copy", "--plan")
    assert "论文" in run("--lang", "zh", "paper", "--help")


def test_the_wheel_holds_the_program_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"openwork", f"{wheel.name.rsplit('-', 3)[0]}.dist-info"}
    recipes = {name.removeprefix("openwork/") for name in names if name.startswith("openwork/recipes/")}
    files = [path for path in (REPOSITORY / "recipes").rglob("*") if path.is_file()]
    assert recipes == {path.relative_to(REPOSITORY).as_posix() for path in files}
    assert {Path(name).suffix for name in recipes} == {".toml", ".sh", ".yaml"}
    assert "openwork/py.typed" in names and not [name for name in names if name.endswith((".pyc", ".po"))]
