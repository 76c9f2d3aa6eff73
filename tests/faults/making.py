"""Faults, made within the process that has to survive them.

`at_operation` counts what a process does to the files of one folder (opening for writing, each write, flushing,
renaming, removing, making folders) and does something at one of these: the moments at which a file can be spoilt are
all there, one after another, and not left to chance.
"""

import ctypes
import errno
import io
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

Event = Callable[[str, Callable[[], Any]], None]
"""Is told of an operation before it is done: its name and path, and what does half of it (of a write)."""


def _nothing() -> None:
    pass


class Operations:
    """What is done to the files below a folder, told to `event` one by one."""

    def __init__(self, folder: str, event: Event) -> None:
        self.folder = os.path.realpath(folder)
        self.event = event
        self.busy = False

    def tell(self, name: str, path: object, half: Callable[[], Any] = _nothing) -> None:
        if self.busy or not isinstance(path, str | bytes | os.PathLike):
            return
        full = os.path.realpath(os.fsdecode(path))
        if full == self.folder or not full.startswith(self.folder + os.sep):
            return
        self.busy = True
        try:
            self.event(f"{name} {os.path.relpath(full, self.folder)}", half)
        finally:
            self.busy = False

    def watch(self) -> None:
        """From now on, for as long as the process lives."""
        sys.addaudithook(self._audited)
        self._watch_descriptors()
        self._watch_writing()

    def _audited(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR):
                self.tell("open", path)
        elif name in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"):
            self.tell(name.removeprefix("os."), arguments[0])

    def _watch_descriptors(self) -> None:
        real_sync, real_write = os.fsync, os.write

        def path_of(descriptor: int) -> str:
            return os.readlink(f"/proc/self/fd/{descriptor}")

        def sync(descriptor: int) -> None:
            self.tell("fsync", path_of(descriptor))
            real_sync(descriptor)

        def write(descriptor: int, data: bytes) -> int:
            self.tell("write", path_of(descriptor), lambda: real_write(descriptor, data[: len(data) // 2]))
            return real_write(descriptor, data)

        os.fsync, os.write = sync, write  # type: ignore[assignment]

    def _watch_writing(self) -> None:
        operations, real_open = self, io.open

        class Watched(io.FileIO):
            def write(self, data: Any, /) -> int:
                view = memoryview(data)
                half = lambda: io.FileIO.write(self, view[: len(view) // 2])  # noqa: E731
                operations.tell("write", str(self.name), half)
                return io.FileIO.write(self, data)

        def opened(file: Any, mode: str = "r", buffering: int = -1, *more: Any, **options: Any) -> Any:
            if "r" in mode or buffering == 0 or isinstance(file, int):
                return real_open(file, mode, buffering, *more, **options)
            raw = io.BufferedWriter(Watched(os.fspath(file), mode.replace("b", "").replace("t", "")))
            if "b" in mode:
                return raw
            encoding, errors, newline = (*more, *(None,) * 3)[:3]
            return io.TextIOWrapper(
                raw, options.get("encoding", encoding), options.get("errors", errors), options.get("newline", newline)
            )

        io.open = opened  # type: ignore[assignment]


def note_operations(folder: str, log: str) -> None:
    """Writes the name of each operation into a file: so one knows how many there are."""
    file = open(log, "w", buffering=1, encoding="utf-8")  # noqa: SIM115
    Operations(folder, lambda name, half: print(name, file=file)).watch()


def at_operation(folder: str, number: int, fault: str) -> None:
    """At operation `number` (from 0) `kill` (a write is then half done), `full` (the disk is, from then on), a
    signal by its name, such as SIGTERM (`SIGTERM twice`: a second time at the next operation), or `replace A by B`."""
    seen = -1

    def event(name: str, half: Callable[[], Any]) -> None:
        nonlocal seen
        seen += 1
        if fault == "full":
            if seen >= number and name.startswith(("open", "write", "mkdir", "fsync")):
                half()
                where = [os.path.join(folder, name.split(" ", 1)[1])] if name.startswith(("open", "mkdir")) else []
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *where)
        elif seen == number or (fault.endswith("twice") and seen == number + 1):
            if fault == "kill":
                half()
                os.kill(os.getpid(), signal.SIGKILL)
            if fault.startswith("replace "):
                _, path, _, other = fault.split(" ")
                shutil.copyfile(other, path)
                return
            os.kill(os.getpid(), signal.Signals[fault.split()[0]])

    Operations(folder, event).watch()


def limit_files(most: int, deadly: bool) -> None:
    """No file may grow beyond `most` bytes: the system stops the write in its middle, and with `deadly` the process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def limit_memory(more: int) -> None:
    """The process may take so many bytes of addresses more than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def give_up_rights() -> None:
    """Also root then obeys the modes of files: every capability of the process is given up."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0


def clock_backwards() -> None:
    """Each look at the clock is an hour before the last one."""
    now = time.time()

    def earlier() -> float:
        nonlocal now
        now -= 3600
        return now

    time.time = earlier


def ignore(name: str) -> None:
    """A signal is ignored, as nohup ignores SIGHUP."""
    signal.signal(signal.Signals[name], signal.SIG_IGN)


def environment(name: str, value: str) -> None:
    """Sets a variable of the environment."""
    os.environ[name] = value


def two_threads() -> None:
    """The process may use two cores."""
    import torch

    torch.set_num_threads(2)


def failing_part(number: int) -> None:
    """What a training's thread computes fails, the n-th time."""
    from openwork.training.step import Updater

    real, made = Updater._gradients, count(1)

    def gradients(updater: Updater, *part: Any) -> Any:
        if next(made) == number:
            raise ZeroDivisionError("a part that fails")
        return real(updater, *part)

    Updater._gradients = gradients  # type: ignore[method-assign]


FAULTS: dict[str, Callable[..., None]] = {
    made.__name__: made
    for made in (
        note_operations,
        at_operation,
        limit_files,
        limit_memory,
        give_up_rights,
        clock_backwards,
        ignore,
        environment,
        two_threads,
        failing_part,
    )
}
