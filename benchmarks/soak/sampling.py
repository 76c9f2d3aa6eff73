"""What a process and those that it started hold of the machine, as Linux counts it."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Sample:
    """One look at all processes together; memory in bytes.

    `held` is what a leak grows, and what is judged: memory that no file stands behind (Pss_Anon, Pss_Shmem, SwapPss).
    Resident memory as a whole has pages of files too, such as libraries and the mapped corpus, which come by being
    read and go when the system wants them; it is noted and not judged. All are proportional: a page that several
    processes share, as copies of a translator do, is divided among them instead of being counted again and again.
    """

    held: int
    resident: int
    threads: int
    files: int
    processes: int


def processes_below(process: int) -> Iterator[int]:
    """The process and all that it started, and they; those that end meanwhile are left out."""
    yield process
    with suppress(OSError):
        for task in (PROC / str(process) / "task").iterdir():
            with suppress(OSError):  # a thread that ends
                for child in (task / "children").read_text().split():
                    yield from processes_below(int(child))


def look(process: int) -> Sample | None:
    """All of it now; None where the process itself is gone."""
    found = [part for number in processes_below(process) if (part := _look_at(number)) is not None]
    if not found:
        return None
    return Sample(*(sum(figures) for figures in zip(*found, strict=True)))


def _look_at(process: int) -> tuple[int, int, int, int, int] | None:
    folder = PROC / str(process)
    try:
        memory = _kilobytes((folder / "smaps_rollup").read_text())
        threads = sum(1 for _ in (folder / "task").iterdir())
        files = sum(1 for _ in (folder / "fd").iterdir())
    except OSError:  # it has ended
        return None
    held = memory["Pss_Anon"] + memory["Pss_Shmem"] + memory["SwapPss"]
    return held, memory["Pss"] + memory["SwapPss"], threads, files, 1


def _kilobytes(text: str) -> dict[str, int]:
    """The lines `Name:   12 kB`, in bytes."""
    lines = (line.split() for line in text.splitlines()[1:])
    return {name.rstrip(":"): int(number) * 1024 for name, number, *_ in lines}
