"""What every command prints: on a full device, on terminals that are not UTF-8, about names that strangers gave."""

import io
import os
import subprocess
from pathlib import Path

import pytest
from typer import rich_utils

from cli.everything import COMMANDS, WORK, arguments_of, prepare, run_main
from journeys.command import COMMAND, PATIENCE
from openwork.base.messages import LANGUAGE_VARIABLE
from openwork.base.printing import UNSAFE
from openwork.bundles.bundle import Bundle

pytestmark = pytest.mark.slow

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b7m\u202e\u2066\x7f"
STRANGE = os.fsdecode(b"caf\xe9")
DATA = ("translate",)  # what it prints is the translation alone, and that passes as it is


@pytest.fixture(autouse=True)
def own_titles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The titles of help are set once a process and would stay Chinese; and no corpora are on this machine."""
    for name in ("OPTIONS", "COMMANDS", "ARGUMENTS", "ERRORS"):
        title = f"{name}_PANEL_TITLE"
        monkeypatch.setattr(rich_utils, title, getattr(rich_utils, title))
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "none"))


def test_every_command_is_tried():
    assert sorted(WORK) == COMMANDS


def outcome(monkeypatch: pytest.MonkeyPatch, arguments: list[str], encoding: str) -> tuple[int, str, str]:
    """Exit code, output and messages; a stream of the encoding is as strict as Python's own."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2)]
    code = run_main(monkeypatch, arguments, *streams)
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode("utf-8") for stream in streams)  # type: ignore[attr-defined]
    assert "Traceback" not in err and "bug in openwork" not in err, err
    return code, out, err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_on_a_terminal_of_ascii(command: str, language: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, language)
    code, out, err = outcome(monkeypatch, [*command.split(), "--help"], "ascii")
    assert code == 0 and out.isascii() and not err
    assert ("\\u" in out) == (language == "zh") or language == "en"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["ascii", "hostile name", "name of other bytes"])
def test_work(command: str, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_bundle: Bundle):
    """In Chinese on a terminal that has no Chinese; in folders whose names command the terminal, or are not UTF-8."""
    name = {"ascii": "plain", "hostile name": HOSTILE, "name of other bytes": STRANGE}[kind]
    folder = prepare(tmp_path / name, tiny_bundle)
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh" if kind == "ascii" else "en")
    _, out, err = outcome(monkeypatch, arguments_of(command, folder), "ascii" if kind == "ascii" else "utf-8")
    assert err.isascii() or kind != "ascii"
    printed = err if command in DATA else out + err
    assert UNSAFE.findall(printed) == []
    if kind == "hostile name" and "0;title" in printed:
        assert "\\x1b]0;title\\x07" in printed and "\\u202e" in printed


@pytest.mark.parametrize("what", ["help", "work"])
@pytest.mark.parametrize("command", COMMANDS)
def test_full_device(
    command: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_bundle: Bundle
):  # fmt: skip
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    folder = prepare(tmp_path / "plain", tiny_bundle)
    arguments = [*command.split(), "--help"] if what == "help" else arguments_of(command, folder)
    calm, out, _ = outcome(monkeypatch, arguments, "utf-8")
    again = prepare(tmp_path / "again", tiny_bundle)
    told = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with open("/dev/full", "w", encoding="utf-8") as full:
        code = run_main(monkeypatch, [word.replace(str(folder), str(again)) for word in arguments], full, told)
    told.flush()
    message = told.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert "Traceback" not in message
    if out:
        assert code == 1 and "error E006: the output cannot be written\n  why: No space left on device" in message
    else:
        assert code == calm


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["train", "--help"], ["data", "list"], ["trian"]], ids=" ".join
)
@pytest.mark.parametrize("also", [False, True], ids=["output", "output and messages"])
def test_the_process_ends_without_a_complaint_of_python(arguments: list[str], also: bool):
    """Python itself writes out what is left when the process ends; on a full device it says so, with exit code 120."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=full if also else subprocess.PIPE, timeout=PATIENCE, check=False
        )
    assert done.returncode == (2 if arguments == ["trian"] else 1)
    if not also:
        first, *rest = done.stderr.decode().splitlines()
        assert first.startswith("error ") and len(rest) <= 2 and "Exception ignored" not in "".join(rest)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--lang", "zh", "--help"], ["--lang", "zh", "data", "list"], ["paper", "table", "3"],
     ["explain", "--list"]],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize(
    "variables",
    [{"PYTHONIOENCODING": "latin1"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["latin-1", "C"],
)
def test_process_in_another_locale(arguments: list[str], variables: dict[str, str]):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, timeout=PATIENCE, check=False, env={**environment, **variables}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("latin1")
