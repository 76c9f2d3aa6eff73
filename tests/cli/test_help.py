"""Help: at once, without torch, within 80 columns, with examples that can be copied."""

import resource
import subprocess
import sys

import pytest

from journeys.command import COMMAND, PATIENCE, openwork, without_colour

COMMANDS = ["demo", "train", "translate", "evaluate", "info", "tokenize"]
CALLS = [["--help"], ["--version"], *([command, "--help"] for command in COMMANDS)]
SLOW = 1.0  # seconds of processor time, which a busy machine does not stretch much; it takes 0.15
HEAVY = ("torch", "numpy", "tokenizers", "sacrebleu", "babel")


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_help_is_there_at_once(arguments: list[str]):
    before = processor_seconds()
    assert openwork(*arguments).code == 0
    assert processor_seconds() - before < SLOW


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["--version"], ["train"], ["trian"]], ids=" ".join
)
def test_nothing_heavy_is_imported_before_there_is_work(arguments: list[str]):
    code = "import sys; from openwork.cli.main import main\ntry: main()\nfinally: print('LOADED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "LOADED" and "typer" in loaded
    heavy = HEAVY if arguments != ["train"] else HEAVY[:1]  # it looks at the settings
    assert not set(heavy) & set(loaded)


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_help_fits_eighty_columns(arguments: list[str]):
    """Without a terminal there are no colours either."""
    result = openwork(*arguments, env=without_colour())
    text = result.out.decode()
    assert result.err == "" and "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_a_sentence_and_two_examples(command: str):
    """Each example stands on a line of its own, before the options, and names options that there are."""
    text = openwork(command, "--help", env=without_colour()).out.decode()
    before, _, options = text.partition("─ Options")
    examples = [line.strip() for line in before.splitlines() if f"openwork {command}" in line and "Usage:" not in line]
    assert len(examples) == 2, before
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
    text = openwork("--help").out.decode()
    assert all(f" {command} " in text for command in COMMANDS)


def test_console_script_is_the_same_program():
    """`python -m openwork` calls itself openwork, as the script does."""
    assert COMMAND[1:] == ["-m", "openwork"]
    assert "Usage: openwork [OPTIONS] COMMAND" in openwork("--help").out.decode()
