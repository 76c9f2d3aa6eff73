"""Ctrl-C, SIGTERM, readers that leave, and writers that wait for an answer."""

import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from faults.nursery import Nursery
from journeys.command import COMMAND, PATIENCE, openwork, run_file, start
from openwork.base.records import read_records
from openwork.training.checkpoint import checkpoint_step, checkpoints

pytestmark = pytest.mark.slow  # each test starts processes that load torch

ENDLESS = {"steps": 1_000_000, "validate_every": 20, "validation_sentences": 0, "log_every": 10}


@pytest.fixture(scope="module")
def bundle(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    result = nursery.run("train", run_file(folder), "--out", folder / "out")
    assert result.code == 0, result.err
    return folder / "out"


def wait_for_updates(out: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the training's own record says that it is under way."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "the training has ended by itself"
        if (out / "records.jsonl").is_file() and any(r["kind"] == "step" for r in read_records(out / "records.jsonl")):
            return
        time.sleep(0.05)
    raise AssertionError("the training does not begin")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_first_signal_saves_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals):
    out = tmp_path / "out"
    settings = run_file(tmp_path, **ENDLESS)
    process = start("train", settings, "--out", out)
    wait_for_updates(out, process)
    process.send_signal(number)
    error = process.communicate(timeout=PATIENCE)[1].decode()
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert "stopping after this update, to save; once more stops at once" in error
    last = read_records(out / "records.jsonl")[-1]
    assert (last["kind"], last["reason"]) == ("finished", "interrupted")
    assert checkpoint_step(checkpoints(out / "checkpoints")[-1]) == last["step"]
    assert f"saved after update {last['step']:,}; to continue, run the same command again" in error
    assert not list(out.rglob("*.partial"))


def test_second_signal_stops_at_once(tmp_path: Path):
    """Updates of many batches stand for a machine that is slow: the second Ctrl-C does not wait for their end."""
    out = tmp_path / "out"
    settings = run_file(tmp_path, **ENDLESS)
    slow = ("--set", "training.accumulate=1000", "--set", "training.log_every=1", "--set", "model.width=256")
    process = start("train", settings, "--out", out, *slow)
    assert process.stderr is not None
    end = time.monotonic() + PATIENCE
    while not (out / "records.jsonl").is_file() or not read_records(out / "records.jsonl"):
        assert time.monotonic() < end and process.poll() is None, "the training does not begin"
        time.sleep(0.05)
    time.sleep(0.5)  # into the first update, which would take hours
    process.send_signal(signal.SIGINT)
    error = b""
    while b"stopping after this update, to save; once more stops at once" not in error:
        more = process.stderr.read(1 << 16)
        assert more, error.decode()
        error += more
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    error += process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130, error
    assert b"Traceback" not in error
    assert b"stopped at once; to continue from what was saved last, run the same command again" in error


def test_log_whose_reader_leaves_ends_no_training(tmp_path: Path):
    """`openwork train ... 2>&1 | head -1` goes on to its end."""
    out = tmp_path / "out"
    settings = run_file(tmp_path, steps=60, validate_every=20, log_every=1)
    process = start("train", settings, "--out", out)
    assert process.stderr is not None
    process.stderr.read(1)
    process.stderr.close()
    assert process.wait(timeout=PATIENCE) == 0
    assert (out / "bundle/bundle.json").is_file()


@pytest.mark.parametrize("command", ["translate", "tokenize"])
def test_reader_of_the_output_leaves(bundle: Path, command: str):
    """`... | head -1`: no complaint, no failure, and an end."""
    process = start(command, "--bundle", bundle)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"\n")
    assert process.stdout.read(1) == b"\n"
    process.stdout.close()
    try:
        process.stdin.write(b"a b\n" * 50)
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert (process.stderr.read(), process.wait(timeout=PATIENCE)) == (b"", 0)


def test_full_disk_behind_the_output(bundle: Path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*COMMAND, "info", str(bundle)], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    assert result.returncode == 1
    assert result.stderr.decode().startswith(
        "error E006: the output cannot be written\n  why: No space left on device\n"
    )


def test_each_line_is_answered_before_the_next_is_written(bundle: Path):
    """Another program may hold a conversation; then Ctrl-C while it waits ends it without noise."""
    process = start("translate", "--bundle", bundle, "--beam", "1", "--json")
    assert process.stdin and process.stdout and process.stderr
    for text in ("a b", "", "c d e"):
        process.stdin.write(f"{text}\n".encode())
        answer = b""
        while not answer.endswith(b"\n"):
            answer += process.stdout.read(1)
        assert json.loads(answer)["source"] == text
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) == 130
    assert process.stderr.read() == b"interrupted\n"


def test_streams_that_are_not_there(bundle: Path):
    """`openwork translate <&-` reads nothing and is done."""
    result = subprocess.run(
        f"{' '.join(COMMAND)} translate --bundle '{bundle}' <&-", shell=True, capture_output=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_no_escape_codes_in_a_pipe(tmp_path: Path):
    """Not even where the environment speaks of a fine terminal."""
    result = openwork("train", run_file(tmp_path), "--out", tmp_path / "out", env={**os.environ, "TERM": "xterm"})
    assert result.code == 0, result.err
    assert "\x1b" not in result.err and "\r" not in result.err
    assert "step=2 loss=" in result.err


def test_terminal_gets_a_live_block(tmp_path: Path):
    """On a terminal of 80 columns; with NO_COLOR it stays live and loses its colours."""
    screen = on_terminal(tmp_path / "a", {})
    assert "\x1b[" in screen and "tokens/s" in screen and "held out" in screen
    plain = on_terminal(tmp_path / "b", {"NO_COLOR": "1"})
    assert "tokens/s" in plain and "\x1b[3" not in plain


def on_terminal(folder: Path, variables: dict[str, str]) -> str:
    """What a tiny training shows on a pseudo-terminal."""
    folder.mkdir()
    ours, theirs = os.openpty()
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_NONBLOCK)
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **variables}
    process = start("train", run_file(folder), "--out", folder / "out", stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended = process.poll() is not None
        try:
            shown += os.read(ours, 65536)
        except (BlockingIOError, OSError):
            if ended:
                break
            time.sleep(0.05)
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 0, shown.decode()
    return shown.decode()
