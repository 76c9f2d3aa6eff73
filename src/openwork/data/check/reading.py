"""The lines of a file as they are, damaged ones too: a check has to see what a training refuses."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from openwork.base.files import open_binary
from openwork.data.check.faults import FaultKind
from openwork.data.records import Pair

LONGEST = 1_000_000  # bytes of a line that are kept
COUNTS = FaultKind("files with different numbers of lines")


def read_as_it_is(source: Path, target: Path) -> tuple[list[Pair], tuple[int, int]]:
    """The pairs of two files, as many as the longer one has lines, and how many lines each has.

    What is no UTF-8 becomes the replacement character; a side that is missing is empty.
    """
    pairs = []
    counts = [0, 0]
    for one, other in zip_longest(_lines(source), _lines(target)):
        counts[0] += one is not None
        counts[1] += other is not None
        pairs.append(Pair(one or "", other or ""))
    return pairs, (counts[0], counts[1])


def _lines(path: Path) -> Iterator[str]:
    with open_binary(path) as file:
        first = True
        while data := file.readline(LONGEST):
            rest = data
            while rest and not rest.endswith(b"\n"):  # the end of a line that is too long, or of the file
                rest = file.readline(LONGEST)
            text = data.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")
            yield text.removeprefix("\ufeff") if first else text
            first = False
