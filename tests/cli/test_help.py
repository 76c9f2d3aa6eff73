"""Help: at once, without torch, within 80 columns, with examples that can be copied."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer

from journeys.command import PATIENCE, Finished, openwork, without_colour
from openwork.cli.main import app

pytestmark = pytest.mark.slow


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of every command that does something, those within others too."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path


COMMANDS = sorted(leaves(typer.main.get_command(app)))
CALLS = [("--help",), ("--version",), ("config", "--help"), *((*command, "--help") for command in COMMANDS)]
SLOW = 1.0  # seconds of processor time, which a busy machine does not stretch much; it takes 0.15
HEAVY = ("torch", "numpy", "tokenizers", "sacrebleu", "babel")


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@cache
def asked(*arguments: str) -> tuple[Finished, float]:
    """What the command prints on a plain terminal, and the processor seconds that it took."""
    before = processor_seconds()
    result = openwork(*arguments, env=without_colour())
    return result, processor_seconds() - before


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_help_is_there_at_once(arguments: tuple[str, ...]):
    result, seconds = asked(*arguments)
    assert result.code == 0 and seconds < SLOW


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["train", "--help"], ["--version"], ["train"], ["trian"], ["completion", "zsh"], ["config", "schema"]],
    ids=" ".join,
)
def test_nothing_heavy_is_imported_before_there_is_work(arguments: list[str]):
    code = "import sys; from openwork.cli.main import main\ntry: main()\nfinally: print('LOADED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "LOADED" and "typer" in loaded
    heavy = HEAVY[:1] if arguments in (["train"], ["config", "schema"]) else HEAVY  # these look at the settings
    assert not set(heavy) & set(loaded)


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_help_fits_eighty_columns(arguments: tuple[str, ...]):
    """Without a terminal there are no colours either."""
    result, _ = asked(*arguments)
    text = result.out.decode()
    assert result.err == "" and "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_begins_with_a_sentence_and_two_examples(command: tuple[str, ...]):
    """Each example stands on a line of its own, before the options, and names options that there are."""
    text = asked(*command, "--help")[0].out.decode()
    before, _, options = text.partition("─ Options")
    called = f"openwork {' '.join(command)}"
    examples = [line.strip() for line in before.splitlines() if called in line and "Usage:" not in line]
    assert len(examples) >= 2, before
    for example in examples:
        named = [word for word in example.split("|")[-1].split() if word.startswith("--")]
        assert all(f"{option} " in options for option in named), example
    assert before.splitlines()[3].strip().endswith(".") or before.splitlines()[4].strip().endswith(".")


def test_short_form_and_version():
    assert openwork("-h").out == openwork("--help").out
    assert openwork("--version").out.decode().split()[0] == "openwork"
    alone = openwork()
    assert alone.code == 2 and "Usage: openwork" in (alone.out.decode() + alone.err)


def test_each_command_is_listed():
    text = asked("--help")[0].out.decode()
    assert {"train", "score", "config"} <= {command[0] for command in COMMANDS}
    assert all(f" {command[0]} " in text for command in COMMANDS)


def test_console_script_is_the_same_program():
    """`python -m openwork` calls itself openwork, as the script does."""
    done = subprocess.run([sys.executable, "-m", "openwork", "--help"], capture_output=True, check=True)
    assert "Usage: openwork [OPTIONS] COMMAND" in done.stdout.decode()


def test_the_table_of_commands_has_the_first_sentence_of_each_ones_help():
    group = typer.main.get_command(app)
    context = typer.Context(group)
    for name, command in group.commands.items():
        assert group.get_command(context, name).help == command.help.split("\n\n")[0], name
