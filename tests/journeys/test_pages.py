"""The shell blocks of the how-to pages run as they are printed, one page after another; trainings are cut short."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import TINY, Finished
from journeys.pages import HOW_TO, REPOSITORY, Command, shell_blocks
from openwork.data.corpora.synthetic import copy

pytestmark = pytest.mark.slow

SHORT = ["steps=3", "cooldown=0", "validate_every=3", "validation_sentences=5"]
OTHERWISE = {"--plan", "--preflight", "--check-resume"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    for name, split, count in (("train", "train", 90), ("test", "test", 8), ("new", "train", 200)):
        pairs = list(copy(split, count, seed=1))
        (tmp_path / f"{name}.en").write_text("".join(f"{pair.source}\n" for pair in pairs))
        (tmp_path / f"{name}.de").write_text("".join(f"{pair.target}\n" for pair in pairs))
    (tmp_path / "shards").mkdir()
    shutil.copy(tmp_path / "test.en", tmp_path / "shards" / "test.en")
    (tmp_path / "terms.tsv").write_text("a\tb\n")
    (tmp_path / "careful.toml").write_text("[decoding]\nbeam = 3\n")
    (tmp_path / "run.toml").write_text(TINY)
    shutil.copy(REPOSITORY / "examples/from-marian.yml", tmp_path / "marian.yml")
    return tmp_path


LONG = ("docs/look-inside.md", "docs/smaller.md")


@pytest.mark.parametrize("page", [pytest.param(one, marks=[pytest.mark.long] * (one in LONG)) for one in HOW_TO])
def test_the_commands_of_a_page_do_what_they_say(page: str, folder: Path, call: Callable[..., Finished]):
    commands = [Command.of(line) for block in shell_blocks(page) if block.reason is None for line in block.lines]
    if not any(words[0] == "train" and "en-de" in words for words in (command.words for command in commands)):
        assert call("train", "run.toml", "--out", "en-de").code == 0
    for command in commands:
        words = list(command.words)
        if words[0] == "train" and not OTHERWISE & set(words):
            words += [word for value in SHORT for word in ("--set", f"training.{value}")]
        stdin = (folder / command.source).read_bytes() if command.source else command.given.encode()
        done = call(*words, stdin=stdin)
        assert done.code == 0, f"openwork {' '.join(words)}\n{done.err}"
        if command.target:
            (folder / command.target).write_bytes(done.out)
