"""What score, average, compare, evaluate and config are given may be anything: one sentence each, and no traceback."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
LINES = b"a b\nc d\n"

# name -> (what makes the file, exit code, words of the error). None for content: the file is not made.
BAD_FILES: dict[str, tuple[bytes | None, tuple[str, ...]]] = {
    "missing": (None, ("no such file",)),
    "bad UTF-8": (b"a\n\xff\n", (":2: invalid UTF-8",)),
    "NUL": (b"a\nb\0\n", (":2: the line holds a NUL byte",)),
    "UTF-16": ("a\nb\n".encode("utf-16"), (":1: the file is UTF-16",)),
    "cut gzip": (gzip.compress(LINES * 500)[:40], ("gzip", "cut short")),
    "huge line": (b"x" * 1_100_000 + b"\n", (":1: the line is longer than",)),
    "empty": (b"", ("0",)),
}


def make(path: Path, content: bytes | None) -> Path:
    if content is not None:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_for_compare(call: Call, tmp_path: Path, name: str):
    """As a system's output, and as the references."""
    content, words = BAD_FILES[name]
    good, bad = make(tmp_path / "good", LINES), make(tmp_path / "bad", content)
    told(call("compare", good, bad, "--reference", good), 3, *words)
    told(call("compare", good, good, "--reference", bad), 3, *words)


def test_folder_for_a_file_and_nothing_at_all(call: Call, tmp_path: Path):
    good, empty = make(tmp_path / "good", LINES), make(tmp_path / "empty", b"")
    told(call("compare", good, tmp_path, "--reference", good), 3, "a folder without a saved evaluation")
    told(call("compare", good, good, "--reference", tmp_path), 3, "this is a folder, not a file")
    told(call("compare", empty, empty, "--reference", empty), 3, "nothing to score")
    told(call("compare", good, good), 2, "there is nothing to compare with", "--reference")
    told(call("compare", good, good, "--reference", good, "--resamples", "1"), 2, "--resamples")


@pytest.mark.parametrize("name", [*BAD_FILES, "folder"])
def test_files_for_score(call: Call, bundle_folder: Path, tmp_path: Path, name: str):
    """As sources, and as targets."""
    good = make(tmp_path / "good", LINES)
    bad, words = tmp_path, ("this is a folder, not a file",)
    if name != "folder":
        content, words = BAD_FILES[name]
        bad = make(tmp_path / "bad", content)
    told(call("score", "--bundle", bundle_folder, "--source", bad, "--target", good), 3, *words)
    told(call("score", "--bundle", bundle_folder, "--source", good, "--target", bad), 3, *words)


@pytest.mark.parametrize("name", ["bad UTF-8", "NUL", "huge line"])
def test_bad_lines_cost_score_no_other_line(call: Call, bundle_folder: Path, name: str):
    """On standard input."""
    lines = (b"a b\n" + (BAD_FILES[name][0] or b"") + b"c\n").splitlines()
    result = call("score", "--bundle", bundle_folder, stdin=b"".join(line + b"\t" + line + b"\n" for line in lines))
    assert result.code == 0, result.err
    assert len(result.lines) == len(lines) and result.lines[0][0] == result.lines[-1][0] == "-"
    assert "Traceback" not in result.err and "line " in result.err


def test_score_of_nothing_and_of_a_huge_line(call: Call, bundle_folder: Path):
    assert call("score", "--bundle", bundle_folder).out == b""
    result = call("score", "--bundle", bundle_folder, stdin=b"a\t" + b"b " * 60_000 + b"\na\ta\n")
    assert result.code == 0 and len(result.lines) == 2
    assert result.lines[0] == "nan\tnan\tnan" and result.lines[1][0] == "-"
    assert "line 1: longer than 100,000 characters, cut" in result.err
    assert "is the most that can be scored" in result.err


def test_half_of_the_files_for_score(call: Call, bundle_folder: Path, tmp_path: Path):
    told(call("score", "--bundle", bundle_folder, "--source", tmp_path), 2, "--source and --target go together")


@pytest.mark.parametrize("command", ["score", "evaluate"])
def test_no_bundle(call: Call, tmp_path: Path, command: str):
    missing = tmp_path / "nothing"
    data = () if command == "score" else ("--corpus", "copy")
    told(call(command, "--bundle", missing, *data), 4, "nothing: no such folder")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        json.dumps({"format": "openwork evaluation", "version": 1, "language": 3, "sha256": {}, "scores": []}).encode(),
        json.dumps({"format": "openwork evaluation", "version": 99, "language": None, "scores": []}).encode(),
    ],
)
def test_damaged_evaluation(call: Call, tmp_path: Path, content: bytes):
    (tmp_path / "evaluation.json").write_bytes(content)
    told(call("compare", tmp_path, tmp_path), 3, "not a saved evaluation", "openwork evaluate --out")


def test_changed_evaluation(call: Call, bundle_folder: Path, tmp_path: Path):
    given = make(tmp_path / "given", LINES)
    out = tmp_path / "out"
    files = ("--source", given, "--reference", given)
    assert call("evaluate", "--bundle", bundle_folder, *files, "--out", out).code == 0
    (out / "references.txt").write_text("x\ny\n")
    told(call("compare", out, out), 3, "references.txt: damaged or changed since it was scored")
    (out / "references.txt").unlink()
    told(call("compare", out, out), 3, "references.txt: no such file")


RUN_FILES: dict[str, tuple[bytes | None, tuple[str, ...]]] = {
    "missing": (None, ("no such run file",)),
    "bad UTF-8": (b"[data]\n\xff\n", (":2: invalid UTF-8",)),
    "NUL": (b"[data]\nx = 1\0\n", (":2: not valid TOML",)),
    "not TOML": (b"[data]\nx = = 1\n", (":2: not valid TOML",)),
    "huge line": (b"x" * 1_000_000, ("not valid TOML",)),
    "unknown key": (b'[data]\ncorpus = "copy"\n[modle]\n', ("unknown key modle", "did you mean model?")),
}


@pytest.mark.parametrize("command", ["show", "check"])
@pytest.mark.parametrize("name", RUN_FILES)
def test_run_files_for_config(call: Call, tmp_path: Path, command: str, name: str):
    content, words = RUN_FILES[name]
    told(call("config", command, make(tmp_path / "run.toml", content)), 3, *words)


@pytest.mark.parametrize("command", ["show", "check"])
def test_folder_and_empty_file_for_config(call: Call, tmp_path: Path, command: str):
    told(call("config", command, tmp_path), 3, "the run file cannot be read")
    empty = make(tmp_path / "empty.toml", b"")
    told(call("config", command, empty), 2 if command == "show" else 3, "data" if command == "check" else "train on")
    told(call("config", command, empty, "--set", "model"), 2, "--set model: not an assignment")


def test_config_alone_shows_its_help(call: Call):
    result = call("config")
    assert result.code == 2 and "error:" not in result.err
    told(call("config", "sohw"), 2, "no such command 'sohw'", "config --help")
    told(call("config", "check"), 2, "missing argument", "config check --help")
    told(call("config", "explain", "decoding.baem"), 2, "did you mean decoding.beam")
    told(call("config", "show"), 2, "there is nothing to show", "--set data.corpus=copy")


def test_shell_without_completion(call: Call):
    told(call("completion", "tcsh"), 2, "tcsh: there is no completion for this shell")
    told(call("completion"), 2, "missing argument")
