"""Gives readers what is nearly right, and notes whatever is not refused in a sentence within seconds."""

import random
import resource
import signal
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from fuzz.guide import Guide
from fuzz.mutate import mutated
from fuzz.target import Target
from fuzz.targets import TARGETS
from openwork.base.errors import OpenworkError

PATIENCE = 5.0  # seconds of computing for one input
WAITING = 60.0  # seconds in all: a machine that is busy with other things makes no hang
MEMORY = 2 << 30  # bytes of address space for one input, beyond what is there


class Hang(BaseException):
    """A reader took longer."""


@dataclass
class Outcome:
    """What came of the inputs of one target."""

    inputs: int = 0
    refused: int = 0
    further: int = 0  # inputs that reached something new, where there was a guide
    found: dict[str, bytes] = field(default_factory=dict)  # by where it happened, the first input of each


def fuzz(name: str, count: int, seed: int = 0, seconds: float = float("inf"), *, guided: bool = False) -> Outcome:
    """So many inputs for a target, or fewer if the time is over.

    `guided`: an input that reached what none before it had reached is changed further, as the seeds are.
    """
    target, generator, outcome = TARGETS[name], random.Random(f"{name} {seed}"), Outcome()
    seeds, end, guide = list(target.seeds()), monotonic() + seconds, Guide() if guided else None
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for content_name, content in target.beside.items():
            (Path(folder) / content_name).write_bytes(content)
        path = Path(folder) / target.name

        def give(data: bytes) -> None:
            _try(target, path, data, outcome, guide)

        for data in list(seeds):
            give(data)
            if guide is not None:
                guide.known |= guide.last
        while outcome.inputs < count and monotonic() < end:
            data = mutated(seeds, generator)
            give(data)
            if guide is not None and (short := guide.takes(data, give)) is not None:
                seeds.append(short)
    outcome.further = len(seeds) - len(target.seeds())
    return outcome


def _try(target: Target, path: Path, data: bytes, outcome: Outcome, guide: Guide | None) -> None:
    path.write_bytes(data)
    outcome.inputs += 1
    try:
        with _patience(), _memory(), guide.watching() if guide else nullcontext():
            target.read(path)
    except OpenworkError:
        outcome.refused += 1
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a hang, and what libraries written in Rust raise when they panic, too
        last = traceback.extract_tb(error.__traceback__)[-1]
        outcome.found.setdefault(
            f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"[:200], data
        )


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Hang

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, PATIENCE), signal.SIGALRM: (signal.ITIMER_REAL, WAITING)}
    before = {number: signal.signal(number, give_up) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _memory() -> Iterator[None]:
    """Memory that an input makes the reader ask for beyond measure is refused by the system, and so found."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
