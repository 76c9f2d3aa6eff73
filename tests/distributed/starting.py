"""Starts a module of tests in several processes, as a launcher does that has no store of its own."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SOURCES = TESTS.parent / "src"
LONGEST = 900  # seconds, for what never ends


@dataclass(frozen=True)
class Ended:
    """How a process ended: what it wrote, and its exit code."""

    code: int
    out: str
    err: str


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment(**variables: object) -> dict[str, str]:
    """That of the tests, where `openwork` and the tests can be imported and each process has one thread."""
    paths = os.pathsep.join(map(str, (SOURCES, TESTS)))
    plain = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENWORK_LANG": "en"}
    return {**os.environ, **plain, **{name: str(value) for name, value in variables.items()}}


def start(count: int, command: Sequence[str], **variables: object) -> list[subprocess.Popen[str]]:
    """The processes, by rank."""
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment(
                RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=count, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **variables
            ),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(count)
    ]  # fmt: skip


def ended(processes: Sequence[subprocess.Popen[str]]) -> list[Ended]:
    """Waits for all of them."""
    until = time.monotonic() + LONGEST
    try:
        found = [process.communicate(timeout=max(1.0, until - time.monotonic())) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [Ended(process.returncode, *texts) for process, texts in zip(processes, found, strict=True)]


def results(count: int, command: Sequence[str]) -> list[list[Any]]:
    """What each process printed, one JSON value a line; AssertionError if one failed."""
    all_ended = ended(start(count, command))
    for one in all_ended:
        assert one.code == 0, one.err
    return [[json.loads(line) for line in one.out.splitlines()] for one in all_ended]
