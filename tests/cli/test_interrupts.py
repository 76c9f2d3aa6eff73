"""Ctrl-C at exact moments, from the first imports to the end of the process: exit code 130, and no traceback."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from journeys.command import PATIENCE
from openwork.bundles.bundle import Bundle, write_bundle

pytestmark = pytest.mark.slow

SHOW_CURSOR = "\x1b[?25h"
DRIVER = Path(__file__).with_name("interrupting.py")
STARTS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from openwork.cli.interrupts import end_at_once_on_ctrl_c
end_at_once_on_ctrl_c()
from openwork.cli.options import as_command
from openwork.cli.terminal import ErrorReporter, flush_streams
def work():
    {}
def line():
    as_command(work)()
    return 0
import typer
try:
    with ErrorReporter() as errors:
        errors.code = line()
    flush_streams()
    sys.exit(errors.code)
except typer.Exit as ended:
    sys.exit(ended.exit_code)
"""


def driven(*arguments: str | Path | int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), *map(str, arguments)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}  # the same moments in each process
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )


@cache
def calls(where: str, *arguments: str) -> int:
    """How many moments there are in a run that nobody interrupts."""
    done = driven(where, 0, *arguments)
    assert done.returncode == 0, done.stderr
    (count,) = re.findall(r"^CALLS (\d+)$", done.stderr, re.MULTILINE)
    return int(count)


def is_heeded(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stderr) in ((130, ""), (130, "interrupted\n"))


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("interrupted") / "bundle"
    write_bundle(folder, tiny_bundle)
    return str(folder)


# Every second place is enough for each run of all tests: these are seconds each.
PLACES = [pytest.param(place, marks=[pytest.mark.long] * (place % 2)) for place in range(10)]


@pytest.mark.parametrize("place", PLACES)
def test_anywhere_in_a_short_command(place: int):
    count = calls("any", "config", "explain")
    is_heeded(driven("any", 1 + place * count // 10, "config", "explain"))


@pytest.mark.parametrize("place", PLACES)
def test_anywhere_in_a_command_that_loads_torch(place: int, bundle: str):
    arguments = "score", "--bundle", bundle
    count = calls("any", *arguments)
    is_heeded(driven("any", 1 + place * count // 10, *arguments))


@pytest.mark.parametrize("place", PLACES[:6])
def test_where_python_forgets_what_is_raised(place: int, bundle: str):
    """In the callbacks of weak references to the locks of imports: there a Ctrl-C was lost, and the command went on."""
    arguments = "score", "--bundle", bundle
    count = calls("forgotten", *arguments)
    is_heeded(driven("forgotten", 1 + place * count // 6, *arguments))


@pytest.mark.parametrize("arguments", [["--version"], ["config", "schema"]], ids=" ".join)
def test_while_the_process_ends(arguments: list[str]):
    is_heeded(driven("closing", 0, *arguments))


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ("signal.raise_signal(signal.SIGINT)", "interrupted\n"),
        ("try: signal.raise_signal(signal.SIGINT)\n    except BaseException: pass", ""),
        ("type('A', (), {'__del__': lambda self: signal.raise_signal(signal.SIGINT)})()", ""),
        (
            "import os; os.environ.update(FORCE_COLOR='1', TERM='xterm')\n"
            "    from openwork.cli.progress import progress\n"
            "    with progress(2, 'x'):\n"
            "        type('A', (), {'__del__': lambda self: signal.raise_signal(signal.SIGINT)})()",
            SHOW_CURSOR,
        ),
    ],
    ids=["raised", "caught by a library", "lost by Python", "lost while a bar hides the cursor"],
)
def test_in_the_midst_of_work(work: str, told: str):
    done = subprocess.run(
        [sys.executable, "-c", STARTS.replace("{}", work)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 130 and "Traceback" not in done.stderr
    assert done.stderr == told or (told == SHOW_CURSOR and done.stderr.endswith(told))


def test_the_console_script_begins_with_the_handler():
    project = tomllib.loads((DRIVER.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"openwork": "openwork.__main__:main"}


def test_a_process_that_is_to_ignore_it_goes_on():
    """As after `nohup`, or behind `&` in a script."""
    code = STARTS.replace("{}", "signal.raise_signal(signal.SIGINT)").replace("default_int_handler", "SIG_IGN")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
