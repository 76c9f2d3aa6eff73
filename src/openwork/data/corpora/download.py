"""Downloads (bounded, checked, resumed) and members of archives; each file whole or not at all."""

import contextlib
import hashlib
import http.client
import os
import shutil
import tarfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from openwork import __version__
from openwork.base.compression import damages
from openwork.base.errors import DataError, OpenworkError
from openwork.base.files import atomic_file
from openwork.base.messages import msg

MAX_BYTES = 64 << 20
"""The most that is read of a file whose size is not known beforehand."""

MOST = 100
"""How many times as large as its archive a member may be; text packs to a third or a tenth of its size."""

_TIMEOUT_SECONDS = 20
_CHUNK = 1 << 20

Progress = Callable[[str, int, int], None]
"""(name, bytes that are here, bytes in all; 0 if not known) -> None: receives the progress of a download."""


def silent(name: str, done: int, total: int) -> None:
    """For downloads too short for a report."""


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
        """Whether the file is there, with the right checksum."""
        if not path.is_file() or self.size not in (None, path.stat().st_size):
            return False
        algorithm, _, expected = self.checksum.partition(":")
        with path.open("rb") as file:
            return hashlib.file_digest(file, algorithm).hexdigest() == expected


def fetch(remote: RemoteFile, path: Path, *, hint: str, progress: Progress = silent) -> None:
    """Put the file into `path` once its checksum is right; a file that is there already and right stays.

    The next call continues an interrupted download where the size is known. A second process that fetches the same
    file waits for the first. `DataError` when there is no network, the server refuses, or the bytes are others; `hint`
    is what to do then.
    """
    partial = path.with_name(f"{path.name}.part")
    try:
        if remote.is_at(path):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    except OSError as error:
        raise _not_writable(str(partial), error) from error
    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        try:
            if remote.is_at(path):  # the other process has fetched it
                return
            with partial.open("ab") as file:
                _complete(remote, file, hint, progress)
                os.fsync(file.fileno())
            if not remote.is_at(partial):
                partial.unlink()
                why = msg("its checksum differs: the origin has changed, or the connection changes files")
                raise _unexpected(remote, why, hint)
            os.replace(partial, path)
        finally:
            if partial.is_file() and partial.stat().st_size == 0:
                partial.unlink()
            with contextlib.suppress(OSError):  # a process that waits for the lock makes another
                lock.unlink()


def _complete(remote: RemoteFile, file: BinaryIO, hint: str, progress: Progress) -> None:
    done = file.seek(0, os.SEEK_END)
    if remote.size is None or done > remote.size:
        done = file.truncate(file.seek(0))  # whether it is the beginning of the right file cannot be known
    elif done == remote.size:
        return
    limit = MAX_BYTES if remote.size is None else remote.size
    if (needed := limit - done) > (free := shutil.disk_usage(Path(file.name).parent).free):
        raise OpenworkError(
            f"{file.name}: the disk has too little free space for this file",
            why=f"it takes {needed / 1e9:.2f} GB more, and {free / 1e9:.2f} GB are free",
            hint="free some space, or set XDG_CACHE_HOME to a folder on another disk",
            code="E009",
        )
    for chunk in _chunks(remote, file, done, hint):
        done = file.tell() + len(chunk)
        if done > limit:
            file.truncate(file.seek(0))
            raise _unexpected(remote, msg(f"it has more than {limit:,} bytes"), hint)
        try:
            file.write(chunk)
            file.flush()
        except OSError as error:
            raise _not_writable(file.name, error) from error
        progress(remote.name, done, remote.size or 0)
    if remote.size is not None and done < remote.size:
        raise DataError(
            f"{remote.url}: the connection ended after {done:,} of {remote.size:,} bytes",
            hint="run the same command again: it continues from there",
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


def _unexpected(remote: RemoteFile, why: str, hint: str) -> DataError:
    return DataError(f"{remote.url}: the downloaded file is not the expected one", why=why, hint=hint, code="D020")


def _not_writable(path: str, error: OSError) -> OpenworkError:
    return OpenworkError(
        f"{path}: cannot be written",
        why=error.strerror or str(error),
        hint="free some space on that disk, or check that you may write there; then run the command again",
        code="E003",
    )


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy members of an archive (plain or compressed) to files: `wanted` says which member goes where.

    Other members are passed over, so no name in the archive decides where a file is written. `DataError` for an
    archive that is damaged, lacks a member, or has one of more than `MOST` times its own size (a bomb); what was copied
    before stays, each file whole.
    """
    missing = dict(wanted)
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                name = member.name.removeprefix("./")
                path = missing.get(name)
                content = members.extractfile(member) if path is not None and member.isfile() else None
                if path is not None and content is not None:
                    _refuse_bomb(archive, member)
                    with atomic_file(path) as partial, partial.open("wb") as file:
                        shutil.copyfileobj(content, file)
                    del missing[name]
                if not missing:
                    return
    except (tarfile.TarError, TypeError, *damages()) as error:  # TypeError: tarfile, of a gzip header that is cut off
        raise DataError(
            f"{archive}: the archive is damaged or cut short",
            why=str(error),
            hint="remove it, and fetch it again",
            code="D013",
        ) from error
    raise DataError(
        f"{archive}: the archive has no {', '.join(missing)}",
        why="it is not the archive that was expected",
        hint="remove it, and fetch it again",
        code="D014",
    )


def _refuse_bomb(archive: Path, member: tarfile.TarInfo) -> None:
    size = archive.stat().st_size
    if member.size > MOST * size:
        raise DataError(
            f"{archive}: {member.name} would unpack to {member.size:,} bytes, from an archive of {size:,}",
            why=f"no text packs to less than 1/{MOST} of its size; such archives fill disks",
            hint="remove it, and fetch it again from its origin",
            code="D122",
        )
