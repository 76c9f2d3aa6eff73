"""Fetching public files: bounded, checked, continued where it stopped, whole or not at all."""

import contextlib
import hashlib
import http.client
import os
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from openwork import __version__
from openwork.base.errors import DataError, OpenworkError

MAX_BYTES = 64 << 20
"""The most that is taken of a file whose size is not known beforehand."""

_TIMEOUT_SECONDS = 20
_CHUNK = 1 << 20

Told = Callable[[str, int, int], None]
"""(name, bytes that are here, bytes in all; 0 if not known) -> None: receives how far a download is."""


def silent(name: str, done: int, total: int) -> None:
    """For downloads too short to tell of."""


@dataclass(frozen=True)
class RemoteFile:
    """A file in public. `checksum`: an algorithm of hashlib, a colon, the digest in hexadecimal. `size`: in bytes."""

    url: str
    checksum: str
    size: int | None = None

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    def is_at(self, path: Path) -> bool:
        """Whether this very file lies there."""
        if not path.is_file() or self.size not in (None, path.stat().st_size):
            return False
        algorithm, _, expected = self.checksum.partition(":")
        with path.open("rb") as file:
            return hashlib.file_digest(file, algorithm).hexdigest() == expected


def fetch(remote: RemoteFile, path: Path, *, hint: str, told: Told = silent) -> None:
    """Put the file into `path` once its checksum is right; a file that lies there already and is right stays.

    A download that broke off is continued by the next call where the size is known. A second process that fetches the
    same file waits for the first. `DataError` when there is no network, the server refuses, or the bytes are others;
    `hint` is what to do then.
    """
    partial = path.with_name(f"{path.name}.part")
    try:
        if remote.is_at(path):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    except OSError as error:
        raise _not_writable(str(partial), error) from error
    try:
        with _alone(path):
            if remote.is_at(path):  # the other process has brought it
                return
            with partial.open("ab") as file:
                _complete(remote, file, hint, told)
                os.fsync(file.fileno())
            if not remote.is_at(partial):
                partial.unlink()
                raise DataError(
                    f"{remote.url}: what came is not the file that was expected",
                    why="its checksum differs: the origin has changed, or something between here and there has",
                    hint=hint,
                    code="D020",
                )
            os.replace(partial, path)
    finally:
        if partial.is_file() and partial.stat().st_size == 0:
            partial.unlink()


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Within it no other process fetches this file."""
    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # one that waits for it makes another
                lock.unlink()


def _complete(remote: RemoteFile, file: BinaryIO, hint: str, told: Told) -> None:
    """Append what is still missing."""
    done = file.seek(0, os.SEEK_END)
    if remote.size is None or done > remote.size:
        done = file.truncate(file.seek(0))  # whether it is the beginning of the right file cannot be known
    elif done == remote.size:
        return
    limit = MAX_BYTES if remote.size is None else remote.size
    _need_room(file.name, limit - done)
    for chunk in _chunks(remote, file, done, hint):
        done = file.tell() + len(chunk)
        if done > limit:
            file.truncate(file.seek(0))
            raise DataError(
                f"{remote.url}: what came is not the file that was expected",
                why=f"it has more than {limit:,} bytes",
                hint=hint,
                code="D020",
            )
        _write(file, chunk)
        told(remote.name, done, remote.size or 0)
    if remote.size is not None and done < remote.size:
        raise DataError(
            f"{remote.url}: the connection ended after {done:,} of {remote.size:,} bytes",
            hint="run the same command again: it goes on from there",
            code="D021",
        )


def _chunks(remote: RemoteFile, file: BinaryIO, done: int, hint: str) -> Iterator[bytes]:
    """The bytes from `done` on; `file` is emptied if the server sends the whole instead."""
    headers = {"User-Agent": f"openwork/{__version__}"}
    if done:
        headers["Range"] = f"bytes={done}-"
    try:
        request = urllib.request.Request(remote.url, headers=headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            if done and getattr(response, "status", 200) != http.client.PARTIAL_CONTENT:
                file.truncate(file.seek(0))
            while chunk := response.read(_CHUNK):
                yield chunk
    except (OSError, http.client.HTTPException) as error:  # URLError and timeouts are OSErrors
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{remote.url}: cannot be fetched", why=str(reason) or type(error).__name__, hint=hint, code="D022"
        ) from error


def _write(file: BinaryIO, chunk: bytes) -> None:
    try:
        file.write(chunk)
        file.flush()
    except OSError as error:
        raise _not_writable(file.name, error) from error


def _not_writable(path: str, error: OSError) -> OpenworkError:
    return OpenworkError(
        f"{path}: cannot be written",
        why=error.strerror or str(error),
        hint="free some space on that disk, or check that you may write there; then run the command again",
        code="E003",
    )


def _need_room(path: str, needed: int) -> None:
    free = shutil.disk_usage(Path(path).parent).free
    if needed > free:
        raise OpenworkError(
            f"{path}: there is no room for this file",
            why=f"it takes {needed / 1e9:.2f} GB more, and {free / 1e9:.2f} GB are free",
            hint="free some space, or set XDG_CACHE_HOME to a folder on another disk",
            code="E009",
        )
