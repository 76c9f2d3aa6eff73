"""Series in files: columns of numbers in CSV or Parquet, one value a line, divided by time.

The columns that are named are read, or all whose first value is a number. Dates and other texts are passed over.
"""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

from openwork.base.errors import ConfigError, DataError
from openwork.base.files import read_lines
from openwork.base.messages import msg
from openwork.data.records import Pair
from openwork.signals.content import read_content

PARQUET = ".parquet"
MOST_VALUES = 10_000_000  # of all columns of a file
LARGEST = 1e100  # the square of a sum of so many is still a number
VALID, TEST = 7, 8  # tenths of a series at which these splits begin

Columns = dict[str, list[float]]
Row = Sequence[Any]


def need_pyarrow() -> None:
    """ConfigError unless pyarrow is installed."""
    if find_spec("pyarrow") is None:
        raise ConfigError(
            "Parquet files need pyarrow, which is not installed",
            hint="pip install pyarrow (the extra scale), or give a file of text",
            code="C114",
        )


def split_by_time(values: Sequence[float], split: str) -> Pair:
    """A split of a series, and the values before it: 70 % to learn from, 10 % to validate, the last 20 % to test."""
    first, valid, test = 0, len(values) * VALID // 10, len(values) * TEST // 10
    begin, end = {"train": (first, valid), "valid": (valid, test), "test": (test, len(values))}[split]
    texts = (" ".join(map(repr, part)) for part in (values[:begin], values[begin:end]))
    return Pair(*texts)


def read_series(path: Path, columns: Sequence[str] = ()) -> Columns:
    """The values of each column by name; DataError names the line that is wrong."""
    rows = _parquet_rows(path) if path.name.lower().endswith(PARQUET) else _csv_rows(path)
    header = list(next(rows, ("", ()))[1])
    lines = list(islice(rows, 1))  # of values
    names = columns or [name for _, row in lines for name, cell in zip(header, row, strict=False) if is_number(cell)]
    if not lines or not names or any(header.count(name) != 1 for name in names):
        raise DataError(
            f"{path}: it has no series: {', '.join(names) or msg('no column begins with a number')}",
            why=msg(f"its columns are {', '.join(map(str, header)) or '-'}; each series needs a name of its own"),
            hint="write the names of the columns in the first line, then a line for each time",
            code="D161",
        )
    found = [(header.index(name), list[float]()) for name in names]
    for number, (place, row) in enumerate(chain(lines, rows), start=1):
        if number * len(found) > MOST_VALUES:
            raise _wrong(place, msg(f"a file may have {MOST_VALUES:,} values"))
        if len(row) != len(header):
            raise _wrong(place, msg(f"{len(row)} columns, the first line names {len(header)}"))
        for column, values in found:
            if not is_number(row[column]):
                shown = f"{header[column]}: {str(row[column])[:40]!r}"
                raise _wrong(place, msg(f"{shown} is not a number from {-LARGEST:g} to {LARGEST:g}"))
            values.append(float(row[column]))
    return {name: values for name, (_, values) in zip(names, found, strict=True)}


def is_number(value: Any) -> bool:
    """Whether it is a finite number that can be calculated with."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value)) and abs(float(value)) <= LARGEST
    except (TypeError, ValueError, OverflowError):
        return False


def _wrong(place: str, why: str) -> DataError:
    return DataError(
        f"{place}: not a line of series",
        why=why,
        hint="every line needs a finite number for each series: fill gaps, or leave the column out (data.columns)",
        code="D162",
    )


def _csv_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """The place and the cells of each line, the header first; blank lines are passed over."""
    rows = csv.reader(read_lines(path), strict=True)
    try:
        for row in rows:
            if row:
                yield f"{path}:{rows.line_num}", [cell.strip() for cell in row]
    except csv.Error as error:
        raise _wrong(f"{path}:{rows.line_num}", str(error)) from error


def _parquet_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """The same of a Parquet file; lines are counted from 1, after the names."""
    need_pyarrow()
    import pyarrow  # type: ignore[import-not-found]
    import pyarrow.parquet as parquet  # type: ignore[import-not-found]

    data, number = read_content(path, "file of series"), 0
    try:
        with parquet.ParquetFile(io.BytesIO(data)) as file:
            yield str(path), file.schema_arrow.names
            for batch in file.iter_batches(1024):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield f"{path}:{number}", row
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _wrong(str(path), str(error)) from error
