"""The log of a run: one JSON object a line, readable while it is written and after a crash."""

import io
import json
import math
import os
import stat
import time
from collections.abc import Mapping
from errno import EINVAL
from pathlib import Path
from typing import Any, Self

from openwork.base.errors import DataError, OpenworkError
from openwork.base.printing import json_text
from openwork.base.regular_files import CAUTIOUS, read_regular

MOST_BYTES = 1 << 32  # of the log of one run


class RecordWriter:
    """Appends records to a file; each is handed to the system before `write` returns.

    Opening the file cuts off an incomplete last line, which a killed process can leave.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = io.FileIO(self._path, "a+", opener=_opened)
            self._end = _cut_torn_line(self._file)
        except OSError as error:
            raise self._refused(error) from error

    def write(self, kind: str, **fields: Any) -> None:
        """Append `{"time": seconds since 1970, "kind": kind, ...fields}`.

        Numbers that JSON lacks are written as the texts "nan", "inf" and "-inf", which `float` reads back.
        """
        record = {"time": round(time.time(), 3), "kind": kind, **fields}
        line = json_text(_plain(record), allow_nan=False).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file.fileno(), line[written:])
        except OSError as error:
            self._file.truncate(self._end)  # so that a later record does not join half of this one
            raise self._refused(error) from error
        self._end += len(line)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refused(self, error: OSError) -> OpenworkError:
        return OpenworkError(
            f"{self._path}: the record cannot be written",
            why=error.strerror or str(error),
            hint="free some space on that disk, or check that you may write there; earlier records are safe",
            code="E004",
        )


def read_records(path: Path | str) -> list[dict[str, Any]]:
    """All complete records of a file, oldest first, without an incomplete last line.

    `DataError` names file and line of a record that is not a JSON object.
    """
    records, damaged = readable_records(path)
    if damaged:
        raise DataError(
            f"{path}:{damaged[0]}: this line is not a record", hint="remove the line, or restore the file", code="D012"
        )
    return records


def readable_records(path: Path | str) -> tuple[list[dict[str, Any]], list[int]]:
    """The valid records of a file, and the numbers of the invalid lines.

    `DataError` where the file cannot be read.
    """
    path = Path(path)
    try:
        data = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise DataError(
            f"{path}: the records cannot be read",
            why=error.strerror or str(error),
            hint="check that the file is there, and that you may read it",
            code="D011",
        ) from error
    lines = [_record(line) for line in data.split(b"\n")[:-1]]
    damaged = [number for number, record in enumerate(lines, start=1) if record is None]
    return [record for record in lines if record is not None], damaged


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _opened(path: str, flags: int) -> int:
    """Opens a regular file only: a link could lead to another file, whose last line would be cut off."""
    descriptor = os.open(path, flags | CAUTIOUS, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(EINVAL, "not a regular file")
    return descriptor


def _cut_torn_line(file: Any, chunk: int = 1 << 16) -> int:
    """Cuts the file after its last line end and returns its new length; reads only the tail."""
    end = size = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - chunk)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        file.truncate(end)
    return end


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a number of numpy or torch
        return _plain(value.item())
    return str(value)
