"""The pairs that are checked, gone through as often as the checks want: a corpus may be larger than memory.

Lines of files are taken as they are, damaged ones too: a check has to see what a training refuses.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Protocol

from openwork.base.files import open_binary
from openwork.data.check.faults import FaultKind
from openwork.data.records import Pair

LONGEST = 1_000_000  # bytes of a line that are kept
COUNTS = FaultKind("files with different numbers of lines")


class Pairs(Protocol):
    """Pairs that can be counted and gone through again; a list is such, too."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pair]: ...


class FilePairs:
    """The pairs of two files, as many as the longer one has lines; `counts` says how many each has.

    What is no UTF-8 becomes the replacement character; a side that is missing is empty. What can be read only once,
    such as a pipe, is held.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self._sides = _reader(source), _reader(target)
        self.counts = sum(1 for _ in self._sides[0]()), sum(1 for _ in self._sides[1]())

    def __len__(self) -> int:
        return max(self.counts)

    def __iter__(self) -> Iterator[Pair]:
        for one, other in zip_longest(*(_texts(read()) for read in self._sides)):
            yield Pair(one or "", other or "")


def _reader(path: Path) -> Callable[[], Iterable[bytes]]:
    if path.is_file():
        return partial(_lines, path)
    held = list(_lines(path))
    return lambda: held


class NamedPairs:
    """A split of a known corpus, which `load` reads from its beginning."""

    def __init__(self, load: Callable[[], Iterable[Pair]]) -> None:
        self.load = load
        self.count = sum(1 for _ in load())

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.load())


def at(pairs: Pairs, places: Iterable[int]) -> Iterator[tuple[int, Pair]]:
    """The numbers of these lines (from 1), which stand in order from 0, and their pairs; all are read only for some."""
    wanted = iter(places)
    place = next(wanted, None)
    if place is None:
        return
    for number, pair in enumerate(pairs):
        if number == place:
            yield number + 1, pair
            place = next(wanted, None)
            if place is None:
                return


def _texts(lines: Iterable[bytes]) -> Iterator[str]:
    first = True
    for data in lines:
        text = data.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")
        yield text.removeprefix("\ufeff") if first else text
        first = False


def _lines(path: Path) -> Iterator[bytes]:
    with open_binary(path) as file:
        while data := file.readline(LONGEST):
            rest = data
            while rest and not rest.endswith(b"\n"):  # the end of a line that is too long, or of the file
                rest = file.readline(LONGEST)
            yield data
