"""Every example trains, and the commands in its comments do what they say. One process runs all: torch loads once.

A comment line `#: openwork ...` is a command that runs after the training. In it OUT stands for the folder of the run
and TMP for an empty folder; what follows ` <<< ` is its standard input, where \\n means a line end. Paths are relative
to the repository.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from journeys.command import Finished
from openwork.base.config import read_run_file
from openwork.runs.file.resolve import resolve_run

pytestmark = pytest.mark.slow  # each example is a training of its own

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((REPOSITORY / "examples").glob("*.toml"))
# What is an option of the model or of the optimiser only: other tests train with each of them.
LONG = (
    "model-alibi",
    "model-learned-positions",
    "model-relative-positions",
    "training-adafactor-r-drop",
    "training-adagrad-rehearsal",
    "training-cosine-adamw-ema",
    "training-sgd-constant",
)
MARK = "#: openwork "


@dataclass(frozen=True)
class Command:
    """One command of an example: its words after `openwork`, and its input."""

    words: list[str]
    given: bytes

    @classmethod
    def of(cls, line: str, out: Path, empty: Path) -> "Command":
        text, _, given = line.removeprefix(MARK).partition(" <<< ")
        words = [word.replace("OUT", str(out)).replace("TMP", str(empty)) for word in shlex.split(text)]
        return cls(words, (given.replace("\\n", "\n") + "\n").encode() if given else b"")


def commands(example: Path, out: Path, empty: Path) -> list[Command]:
    """The commands that an example's comments name, in their order."""
    lines = example.read_text(encoding="utf-8").splitlines()
    return [Command.of(line, out, empty) for line in lines if line.startswith(MARK)]


@pytest.mark.parametrize(
    "example", [pytest.param(one, marks=[pytest.mark.long] * (one.stem in LONG), id=one.stem) for one in EXAMPLES]
)
def test_example_runs(
    example: Path, call: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    out, empty = tmp_path / "out", tmp_path / "empty"
    empty.mkdir()
    trained = call("train", example.relative_to(REPOSITORY), "--out", out)
    assert trained.code == 0, trained.err
    for command in commands(example, out, empty):
        done = call(*command.words, stdin=command.given)
        assert done.code == 0, f"openwork {shlex.join(command.words)}\n{done.err}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_what_it_shows_and_is_small(example: Path) -> None:
    assert example.read_text(encoding="utf-8").startswith("# "), "an example begins with what it shows"
    settings = resolve_run(read_run_file(example))
    assert settings.training.steps <= 40
    assert settings.training.validation_sentences <= 20


def test_commands_are_read_with_folders_and_input(tmp_path: Path) -> None:
    line = MARK + "translate --bundle OUT --set 'a=\"b c\"' --json TMP/x <<< 1 2\\n3"
    command = Command.of(line, tmp_path / "o", tmp_path / "t")
    expected = ["translate", "--bundle", f"{tmp_path}/o", "--set", 'a="b c"', "--json", f"{tmp_path}/t/x"]
    assert command.words == expected
    assert command.given == b"1 2\n3\n"
