"""Starts a module in several processes, as a launcher does that has no store of its own.

Each is forked from a process that has imported what they need: torch takes seconds to load.
"""

import faulthandler
import json
import multiprocessing
import os
import runpy
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SOURCES = TESTS.parent / "src"
LONGEST = 900  # seconds, for what never ends
LOADED = (
    "openwork.cli.main", "openwork.cli.train", "openwork.runs.train", "openwork.training.computing.sharding",
    "openwork.training.shards", "openwork.inference.translator", "torch.distributed.launcher.api",
    "torch._dynamo", "sacrebleu", "rich.live_render",
)  # fmt: skip
"""What trainings import."""

FORKING: Any = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(list(LOADED))


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


def _work(command: Sequence[str], variables: dict[str, str], files: Sequence[str]) -> None:
    """What a forked process does: `python -m COMMAND`, in this environment, with its output in two files."""
    for stream, file in zip((1, 2), files, strict=True):
        os.dup2(os.open(file, os.O_WRONLY), stream)
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it, and its children
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = variables["PYTHONPATH"].split(os.pathsep)
    sys.argv = ["", *command[1:]]
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


class Forked:
    """A process that runs `python -m COMMAND` in this environment."""

    def __init__(self, command: Sequence[str], variables: dict[str, str]) -> None:
        self.variables = variables
        self._files = [tempfile.NamedTemporaryFile("r", encoding="utf-8") for _ in range(2)]  # noqa: SIM115
        names = [file.name for file in self._files]
        self._process = FORKING.Process(target=_work, args=(list(command), variables, names))
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._process.kill()

    def ended(self, timeout: float = LONGEST) -> Ended:
        """Waits for its end; TimeoutError if it does not come, and the process is killed."""
        self._process.join(timeout)
        if self.is_running:
            self.kill()
            raise TimeoutError(f"{self._process.name} runs on")
        out, err = (file.read() for file in self._files)
        return Ended(self._process.exitcode, out, err)


def start(count: int, command: Sequence[str], **variables: object) -> list[Forked]:
    """The processes, by rank."""
    meeting = {"WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    return [Forked(command, environment(RANK=rank, LOCAL_RANK=rank, **meeting, **variables)) for rank in range(count)]


def ended(processes: Sequence[Forked]) -> list[Ended]:
    """Waits for all of them."""
    until = time.monotonic() + LONGEST
    try:
        return [process.ended(max(1.0, until - time.monotonic())) for process in processes]
    finally:
        for process in processes:
            process.kill()


def results(count: int, command: Sequence[str]) -> list[list[Any]]:
    """What each process printed, one JSON value a line; AssertionError if one failed."""
    all_ended = ended(start(count, command))
    # all of them: the first to complain is seldom the first to fail
    told = "\n".join(f"process {rank}: code {one.code}\n{one.out}{one.err}" for rank, one in enumerate(all_ended))
    assert all(one.code == 0 for one in all_ended), told
    return [[json.loads(line) for line in one.out.splitlines()] for one in all_ended]
