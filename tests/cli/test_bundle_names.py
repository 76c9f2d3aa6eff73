"""A bundle is the first argument of a command, or --bundle (-m); every command knows -h, -q and -v."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from calling import Call
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.cli.main import app

# What follows the bundle, and what the command reads.
COMMANDS = {
    "translate": ([], b"a b c\n"),
    "tokenize": ([], b"a b c\n"),
    "score": ([], b"a b\ta b\n"),
    "evaluate": (["--corpus", "copy"], b""),
    "explain": (["a b", "--json"], b""),
    "info": ([], b""),
    "verify": (["--json"], b""),
}


@pytest.fixture(scope="module")
def folder(tiny_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "a-bundle"
    write_bundle(path, tiny_bundle)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "verify"])
def test_an_argument_and_an_option_are_the_same(call: Call, folder: Path, command: str):
    more, read = COMMANDS[command]
    first = call(command, folder, *more, stdin=read)
    assert first.code == 0 and first.out
    for option in ("--bundle", "-m"):
        assert call(command, *more, option, folder, stdin=read).out == first.out


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("explain", "info")])
def test_one_bundle_is_named(call: Call, folder: Path, command: str):
    more, read = COMMANDS[command]
    twice = call(command, folder, *more, "--bundle", folder, stdin=read)
    assert twice.code == 2 and "two bundles are named" in twice.err
    if command != "tokenize":
        none = call(command, *more, stdin=read)
        assert none.code == 2 and "no bundle was named" in none.err and "openwork train --out" in none.err


def test_a_sentence_and_a_bundle_go_together(call: Call, folder: Path):
    assert "go together" in call("explain", "Ein Hund.").err
    assert "write the sentence in quotes" in call("explain", folder, "Ein", "Hund.").err
    assert "write the sentence in quotes" in call("explain", "-m", folder, "Ein", "Hund.").err


def test_quiet_says_results_and_errors_alone(call: Call, folder: Path):
    read = b"a \xff c\n"
    loud, quiet = (call("translate", folder, *flags, stdin=read) for flags in ([], ["-q"]))
    assert loud.out == quiet.out and loud.err and not quiet.err
    assert "no such folder" in call("translate", folder / "none", "-q", stdin=read).err


def test_verbose_shows_the_traceback(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("OPENWORK_DEBUG", raising=False)
    monkeypatch.setenv("OPENWORK_DEBUG", "")
    with pytest.raises(Exception, match="no such folder"):
        call("translate", tmp_path / "none", "-v")


def options_of(command: Any) -> Iterator[tuple[str, list[str]]]:
    """Each command below this one, with the names of all its options."""
    for inner in getattr(command, "commands", {}).values():
        yield from options_of(inner)
    if not hasattr(command, "commands"):
        yield command.name, [option for parameter in command.params for option in parameter.opts]


@pytest.mark.parametrize(("name", "options"), [*options_of(typer.main.get_command(app))])
def test_every_command_has_the_short_options(name: str, options: list[str]):
    assert {"-q", "-v"} <= {*options}
    assert ("--out" in options) == ("-o" in options)
    assert ("--bundle" in options) == ("-m" in options)
