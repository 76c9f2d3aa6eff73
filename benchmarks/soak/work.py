"""A process at work, and the loop that looks at it."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from soak.log import Log
from soak.sampling import look

COMMAND = [sys.executable, "-m", "openwork"]
GRACE = 120.0  # seconds in which a process must end when it is asked to


class WorkFailed(Exception):
    """The process ended, stood still or answered wrongly; the message says so."""


@runtime_checkable
class Work(Protocol):
    """A process of openwork that goes on until it is ended."""

    process: "subprocess.Popen[bytes]"

    def done(self) -> float:
        """How much it has done: updates, or lines. WorkFailed where something is wrong."""
        ...

    def end(self) -> None:
        """Ends it as a person would. WorkFailed where it does not."""
        ...


def watch(work: Work, log: Log, seconds: float, every: float, say: Callable[[str], None] | None = None) -> None:
    """Looks at it every few seconds for so long, and ends it."""
    begin = time.monotonic()
    try:
        while (passed := time.monotonic() - begin) < seconds:
            sample = look(work.process.pid)
            if sample is None or work.process.poll() is not None:
                raise WorkFailed(f"the process ended by itself with exit code {work.process.wait()}")
            log.add(passed, sample, work.done())
            if say is not None:
                say(
                    f"{passed:7.0f} s {sample.held / 1e6:8.1f} MB {sample.threads:4} threads {sample.files:4} files "
                    f"{work.done():10,.0f} done"
                )
            time.sleep(max(every - (time.monotonic() - begin - passed), 0.0))
        work.end()
    finally:
        if work.process.poll() is None:
            work.process.kill()
        work.process.wait()


def last_words(path: Path) -> str:
    """The end of what a process wrote there."""
    return path.read_text(encoding="utf-8", errors="replace")[-1500:] if path.exists() else ""
