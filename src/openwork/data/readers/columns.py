"""Columns by name: a first line with the columns' names, then one example a line, tabs between. GLUE's form.

The source is one column, or two of them for tasks about two sentences, which then stand with a tab between; the target
is a column as well. Wang et al., "GLUE: A Multi-Task Benchmark and Analysis Platform" (2019), has such files.
"""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.records import Pair


def read_columns(path: Path | str, names: Sequence[str]) -> Iterator[Pair]:
    """The pairs of a file (plain or compressed): all but the last of the columns `names` as source, that as target.

    There is no quoting. DataError for a name that the first line does not have, and for a line with another number of
    columns than that.
    """
    lines = read_lines(path)
    header = next(lines, "").split("\t")
    places = [_place(path, header, name) for name in names]
    for number, line in enumerate(lines, start=2):
        columns = line.split("\t")
        if len(columns) != len(header):
            raise DataError(
                f"{path}:{number}: {len(columns)} columns, the first line names {len(header)}",
                why="there is no quoting: each tab parts two columns",
                hint="look at that line and the one before it; a text may hold neither tab nor line end",
                code="D113",
            )
        *source, target = (columns[place] for place in places)
        yield Pair("\t".join(source), target)


def _place(path: Path | str, header: Sequence[str], name: str) -> int:
    if header.count(name) == 1:
        return header.index(name)
    near = difflib.get_close_matches(name, header, n=1)
    raise DataError(
        f"{path}:1: no column, or more than one, has the name {name!r}",
        why=f"the first line names {', '.join(header)}",
        hint=f"did you mean {near[0]}?" if near else "name columns of that line in data.columns",
        code="D114",
    )
