"""Tab-separated values: source, a tab, target, one pair a line."""

from collections.abc import Iterator
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.records import Pair


def read_tsv(path: Path | str) -> Iterator[Pair]:
    """Yield the pairs of a file (plain or gzip) with exactly two columns; either may be empty.

    There is no quoting: a quotation mark is a character like any other. `DataError` names the line whose number of
    columns is another; a wholly blank line has one column and is refused too, since it may hide a shift.
    """
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            found = "one column" if len(columns) == 1 else f"{len(columns)} columns"
            raise DataError(
                f"{path}:{number}: {found} where two are needed",
                why="a line is the source, one tab, the target",
                hint="keep two columns (`cut -f1,2 FILE > NEW`) and remove tabs from inside the sentences",
                code="D024",
            )
        yield Pair(*columns)
