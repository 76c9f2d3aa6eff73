"""Two aligned files: line n of one translates line n of the other."""

from collections.abc import Iterator
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
        raise DataError(
            f"{source_path} has {_lines(counts[0])}, {target_path} has {_lines(counts[1])}",
            why=f"line n of one must translate line n of the other; {shorter} ends after line {min(counts):,}",
            hint="find where they part (`paste SOURCE TARGET | less`); an untranslated line must stay as a blank line",
            code="D043",
        )


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
