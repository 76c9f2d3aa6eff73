"""Text with one pair a line: two aligned files, two columns with a tab between, or columns by name."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.records import Pair


def read_parallel(source_path: Path | str, target_path: Path | str) -> Iterator[Pair]:
    """Yield the pairs of two text files (plain or gzip), strictly by line number.

    A blank line is an empty sentence, never a reason to skip: a shift by one line would spoil every pair after it.
    Where the counts differ, the longer file is read to its end and `DataError` names both counts. The faults of a
    single file are `read_lines`'s.
    """
    counts = [0, 0]
    for source, target in zip_longest(read_lines(source_path), read_lines(target_path)):
        counts[0] += source is not None
        counts[1] += target is not None
        if source is not None and target is not None:
            yield Pair(source, target)
    if counts[0] != counts[1]:
        shorter = source_path if counts[0] < counts[1] else target_path
        first, second = ("1 line" if count == 1 else f"{count:,} lines" for count in counts)
        raise DataError(
            f"{source_path} has {first}, {target_path} has {second}",
            why=f"line n of one must translate line n of the other; {shorter} ends after line {min(counts):,}",
            hint="find where they part (`paste SOURCE TARGET | less`); an untranslated line must stay as a blank line",
            code="D043",
        )


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


def read_columns(path: Path | str, names: Sequence[str]) -> Iterator[Pair]:
    """The pairs of a file (plain or compressed): all but the last of the columns `names` as source, that as target.

    The first line has the columns' names; then each line is one example, with tabs between, as in the files of GLUE
    (Wang et al. 2019). Two source columns, for tasks about two sentences, keep a tab between. There is no quoting.
    DataError for a name that the first line does not have, and for a line with another number of columns.
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
