"""Reading untrusted text files, and atomic writing of files.

Reading: `open_binary`, `read_lines` and `sha256_file` turn every fault of a file into a `DataError` that names it.
Writing: after a crash, `atomic_file` and its two short forms leave either the old content or the new; `folders.py` does
the same for folders.
"""

import contextlib
import difflib
import errno
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

from openwork.base.compression import LONGEST_MAGIC, Compression, compression_of, damages
from openwork.base.errors import DataError, OpenworkError

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PARTIAL = ".partial"
_PARTIAL_NAME = re.compile(r"\..*\.(\d+)\.[0-9a-f]{8}\.partial", re.DOTALL)  # the number is a process id

MAX_LINE_CHARACTERS = 1_000_000
"""The longest line that `read_lines` accepts by default, which bounds the memory of a line."""


# ------------------------------------------------------------------------------------------------ reading


def open_binary(path: Path | str) -> BinaryIO:
    """Opens a plain, gzip or xz file or a pipe for reading; its first bytes tell the compression, not its name.

    `DataError` for a missing file, a folder, an unreadable file and, while reading, a damaged archive.
    """
    path = Path(path)
    plain = _open_plain(path)
    try:
        compression = compression_of(plain.peek(LONGEST_MAGIC))
    except OSError as error:
        plain.close()
        _refuse_reading(path, error)
    return io.BufferedReader(_GuardedReader(path, plain, compression))


def file_compression(path: Path | str) -> Compression | None:
    """The compression of a file by its first bytes; None for a plain file. `DataError` where it cannot be read."""
    path = Path(path)
    with _open_plain(path) as file:
        try:
            return compression_of(file.peek(LONGEST_MAGIC))
        except OSError as error:
            _refuse_reading(path, error)


class _GuardedReader(io.RawIOBase):
    """Turns a failed read or a damaged archive into a `DataError`."""

    def __init__(self, path: Path, plain: io.BufferedReader, compression: Compression | None) -> None:
        super().__init__()
        self._path = path
        self._plain = plain
        self._name = compression.name if compression else ""
        self._bytes: io.BufferedIOBase = plain
        try:
            if compression is not None:
                self._bytes = compression.unpack(plain)
        except ImportError as error:
            plain.close()
            raise DataError(
                f"{path}: {self._name} files cannot be read here",
                why=f"this Python was built without the module {error.name}",
                hint="unpack the file first",
                code="D001",
            ) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        try:
            data = self._bytes.read1(len(buffer))  # available bytes: a pipe must not wait for a full buffer
        except damages() as error:
            raise DataError(
                f"{self._path}: the {self._name} archive is damaged or cut short",
                why=str(error),
                hint=f"fetch or compress the file again; `{self._name} -t FILE` checks it",
                code="D002",
            ) from error
        except OSError as error:
            _refuse_reading(self._path, error)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._bytes.close()
            self._plain.close()
        super().close()


def read_lines(path: Path | str, *, max_line_characters: int | None = MAX_LINE_CHARACTERS) -> Iterator[str]:
    r"""Yields the lines of a UTF-8 text file, plain, gzip or xz, without their ends.

    Only "\n" ends a line, as for `wc -l` and for the other side of a corpus; U+2028 or a form feed does not. One "\r"
    before the end and a byte-order mark at the start of the file are dropped. `DataError` names file and line for
    invalid UTF-8, a NUL and a line that is too long.
    """
    path = Path(path)
    # A character has at most four bytes; the limit bounds the memory for a file without line ends.
    limit = -1 if max_line_characters is None else 4 * max_line_characters + 8
    with open_binary(path) as file:
        number = 0
        while True:
            number += 1
            try:
                data = file.readline(limit)
            except DataError as error:
                raise DataError(
                    error.what, why=f"{error.why} (at line {number} or later)", hint=error.hint, code=error.code
                ) from error
            if not data:
                return
            whole = data.endswith(b"\n") or limit < 0 or len(data) < limit
            line = _decode_line(path, number, data) if whole else None
            if line is None or (max_line_characters is not None and len(line) > max_line_characters):
                raise DataError(
                    f"{path}:{number}: the line is longer than {max_line_characters:,} characters",
                    why="a line should hold one sentence",
                    hint="check that the file has one sentence a line, or remove this line from both sides",
                    code="D003",
                )
            yield line


def _decode_line(path: Path, number: int, data: bytes) -> str:
    if number == 1:
        if data.startswith(_UTF16_MARKS):
            raise DataError(
                f"{path}:1: the file is UTF-16, not UTF-8",
                hint="convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW",
                code="D004",
            )
        data = data.removeprefix(_UTF8_MARK)
    data = data.removesuffix(b"\n").removesuffix(b"\r")
    if b"\x00" in data:
        raise DataError(
            f"{path}:{number}: the line holds a NUL byte (byte {data.index(0) + 1} of the line)",
            why="the file is not plain UTF-8 text: perhaps it is binary, or UTF-16",
            hint="convert it (iconv -f UTF-16 -t UTF-8 FILE > NEW) or remove the line from both sides",
            code="D005",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{number}: invalid UTF-8 (byte 0x{data[error.start]:02X}, byte {error.start + 1} of the line)",
            why="the line is in another encoding, or damaged",
            hint="convert the file (for example iconv -f LATIN1 -t UTF-8 FILE > NEW) or correct the line",
            code="D006",
        ) from error


def sha256_file(path: Path | str) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    path = Path(path)
    with _open_plain(path) as file:
        try:
            return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            _refuse_reading(path, error)


def sha256_values(values: object) -> str:
    """The SHA-256 of JSON values, independent of the order of keys."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode("utf-8")).hexdigest()


def _open_plain(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        _refuse_reading(path, error)


def _refuse_reading(path: Path, error: OSError | ValueError) -> NoReturn:
    match error:
        case FileNotFoundError():
            raise DataError(f"{path}: no such file", hint=_nearest_file(path), code="D007") from error
        case IsADirectoryError():
            raise DataError(f"{path}: this is a folder, not a file", hint="name a file in it", code="D008") from error
        case PermissionError():
            raise DataError(
                f"{path}: the file may not be read",
                why="permission denied",
                hint=f"try: chmod +r '{path}'",
                code="D009",
            ) from error
    raise DataError(
        f"{path}: the file cannot be read",
        why=getattr(error, "strerror", None) or str(error),
        hint="check that it is a file, and that you may read it",
        code="D010",
    ) from error


def _nearest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either: check the path"
    try:
        names = [other.name for other in path.parent.iterdir()]
    except OSError:
        names = []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else f"check the path (current folder: {Path.cwd()})"


# ------------------------------------------------------------------------------------------------ writing


def atomic_write_bytes(path: Path | str, data: bytes) -> None:
    """Writes a file so that a crash, `kill -9` or a full disk leaves either the old file or the new one."""
    with atomic_file(path) as partial:
        partial.write_bytes(data)


def atomic_write_text(path: Path | str, text: str) -> None:
    """`atomic_write_bytes` in UTF-8, line ends unchanged."""
    atomic_write_bytes(path, text.encode("utf-8"))


@contextlib.contextmanager
def atomic_file(path: Path | str) -> Iterator[Path]:
    """Yields the path of a new file, which replaces `path` when the block ends without error.

    For libraries that write files themselves. On any error the new file is removed and the old one is unchanged. A full
    disk and other errors of the system become an `OpenworkError`.
    """
    with writing(Path(path)) as (path, partial):
        yield partial
        if path.exists():
            shutil.copymode(path, partial)
        flush_to_disk(partial)
        os.replace(partial, path)
        flush_to_disk(path.parent)


@contextlib.contextmanager
def writing(path: Path, within: Path | None = None) -> Iterator[tuple[Path, Path]]:
    """Yields the real path (a link is followed, not replaced), and a temporary name next to it or `within` a folder.

    At the end it removes what has the temporary name. Errors of the system at these two become an `OpenworkError`.
    """
    path = Path(os.path.realpath(path))
    place = within or path.parent
    partial = place / f"{_partial_prefix(path.name)}{os.getpid()}.{os.urandom(4).hex()}{_PARTIAL}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        _tidy(place, path.name)
    except OSError as error:
        _refuse_writing(path, error)
    try:
        yield path, partial
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith((str(partial), str(path))):
            raise  # it comes from other code in the caller's block
        _refuse_writing(path, error)
    finally:
        remove(partial)


def is_partial(name: str) -> bool:
    """Whether a name is a temporary one of `prepare_writing`, which a killed process leaves behind."""
    return _PARTIAL_NAME.fullmatch(name) is not None


def _partial_prefix(name: str) -> str:
    return f".{name[:50]}."  # cut, because a file name may have 255 bytes at most


def _tidy(place: Path, name: str) -> None:
    """Removes the partial files of this name that killed processes left."""
    prefix = _partial_prefix(name)
    for other in os.listdir(place):  # names alone: a folder may have thousands of files, each of which is written so
        found = _PARTIAL_NAME.fullmatch(other) if other.startswith(prefix) else None
        if found and not _is_running(int(found[1])):
            remove(place / other)


def _is_running(process: int) -> bool:
    import psutil  # here, since help and most commands leave no partial file behind

    try:
        return psutil.pid_exists(process)
    except OverflowError:  # of a number that no process has
        return True


def flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _refuse_writing(path: Path, error: OSError) -> NoReturn:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise OpenworkError(
            f"{path}: the disk is full",
            why="the file could not be written; what was there before is unchanged",
            hint=f"free some space on the disk of {path.parent}, then run the command again",
            code="E002",
        ) from error
    raise OpenworkError(
        f"{path}: cannot be written",
        why=error.strerror or str(error),
        hint="check that the folder exists and that you may write there",
        code="E003",
    ) from error
