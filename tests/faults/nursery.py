"""A process that has loaded torch and everything, and runs each command in a copy of itself.

Hundreds of commands are killed here, and torch takes seconds to load. `python -m faults.nursery` reads a JSON request a
line and answers each with one; `Nursery` is its other end.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from journeys.command import PATIENCE, Finished


@dataclass
class Child:
    """A command under way."""

    nursery: "Nursery"
    process: int
    streams: Path

    def said(self) -> str:
        """What it has written to standard error until now."""
        return (self.streams / "err").read_text("utf-8", errors="replace")

    def is_alive(self) -> bool:
        return Path(f"/proc/{self.process}/stat").read_text().rpartition(") ")[2][0] != "Z"

    def wait_until(self, happens: Callable[[], object]) -> None:
        """Until something has happened; that it ends before is an error."""
        while not happens():
            assert self.is_alive(), self.said()
            time.sleep(0.003)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal; that it has ended by itself is no error, for nobody has asked for its end yet."""
        os.kill(self.process, number)

    def wait(self, patience: float = PATIENCE) -> Finished:
        """Its end; one that does not come is an error. A code below zero is the signal that ended it."""
        code = self.nursery.ask({"wait": self.process, "patience": patience})["code"]
        if code is None:
            os.kill(self.process, signal.SIGKILL)
            self.nursery.ask({"wait": self.process, "patience": PATIENCE})
            raise AssertionError(f"it hangs:\n{self.said()}")
        return Finished(code, (self.streams / "out").read_bytes(), self.said())


class Nursery:
    """Starts commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.numbers = count()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "faults.nursery"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(
        self, *arguments: str | Path, faults: Sequence[Sequence[Any]] = (), stdin: bytes = b"", stdout: str = ""
    ) -> Child:
        """Starts `openwork` with these arguments, under faults of `faults.making` (each a name and its arguments).

        `stdout`: a file to write to instead of one of its own.
        """
        streams = self.folder / str(next(self.numbers))
        streams.mkdir()
        (streams / "in").write_bytes(stdin)
        request = {
            "arguments": [str(one) for one in arguments],
            "faults": [[str(one) if isinstance(one, Path) else one for one in fault] for fault in faults],
            "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
            "streams": [str(streams / "in"), stdout or str(streams / "out"), str(streams / "err")],
        }
        for name in ("out", "err"):
            (streams / name).touch()
        return Child(self, self.ask(request)["process"], streams)

    def run(self, *arguments: str | Path, **options: Any) -> Finished:
        """Starts and waits."""
        return self.start(*arguments, **options).wait()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


# ------------------------------------------------------------------------------------------------ the other end

PR_SET_PDEATHSIG = 1  # of prctl: which signal a process gets when its parent ends


def _serve() -> None:
    import torch

    import openwork.cli.main
    import openwork.runs.file.automatic
    import openwork.runs.train
    import openwork.training.observers.console  # noqa: F401

    torch.set_num_threads(1)  # a process that has threads cannot be copied
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"code": _wait(request)} if "wait" in request else {"process": _start(request)}
        print(json.dumps(answer), flush=True)


def _start(request: Mapping[str, Any]) -> int:
    process = os.fork()
    if process == 0:
        _run(request)
    return process


def _run(request: Mapping[str, Any]) -> None:
    from architecture.provoked import VARIABLE, note_all
    from faults.making import FAULTS
    from openwork.cli.main import main

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # no training outlives the tests
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, (path, how) in enumerate(zip(request["streams"], (os.O_RDONLY, flags, flags), strict=True)):
        os.dup2(os.open(path, how), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    sys.argv = ["openwork", *request["arguments"]]
    if os.environ.get(VARIABLE):  # the errors that tests provoke are being noted
        os.environ["PYTEST_CURRENT_TEST"] = request["test"]
        note_all()
    code: object = 70
    try:
        for name, *arguments in request["faults"]:
            FAULTS[name](*arguments)
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code if isinstance(code, int) else 0)


def _wait(request: Mapping[str, Any]) -> int | None:
    end = time.monotonic() + request["patience"]
    while time.monotonic() < end:
        process, status = os.waitpid(request["wait"], os.WNOHANG)
        if process:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


if __name__ == "__main__":
    _serve()
