"""The pairs that are checked, read as often as the checks need, and the faults that they find.

A corpus may be larger than memory. Lines of files are not changed, damaged ones neither: a check must see what a
training refuses.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from openwork.base.files import open_binary
from openwork.base.lines import lines_of
from openwork.data.records import Pair

EXAMPLES = 5
SHOWN = 60  # characters of a text
LONGEST = 1_000_000  # bytes of a line that are kept


class FaultKind(str):
    """A kind of fault, by its name in reports."""


COUNTS = FaultKind("files with different numbers of lines")


class Fault(NamedTuple):
    """One fault of one pair: its kind, the number of its line (from 1), and the text that shows it.

    `partner`: the line of the pair that it is a copy of, in the same corpus or in the training; 0 where there is none.
    """

    kind: FaultKind
    line: int
    shown: str = ""
    partner: int = 0

    @property
    def place(self) -> str:
        """Its line, and that of its partner."""
        return f"{self.line} ~ {self.partner}" if self.partner else f"{self.line}"


@dataclass
class Gathered:
    """All faults of a split by kind: the lines and their partners, and the first few as examples."""

    pairs: int = 0
    lines: dict[FaultKind, "array[int]"] = field(default_factory=dict)
    partners: dict[FaultKind, "array[int]"] = field(default_factory=dict)
    examples: dict[FaultKind, list[Fault]] = field(default_factory=dict)

    def add(self, faults: Iterable[Fault]) -> None:
        """Adds them; a line has a kind of fault once, on whichever side."""
        for fault in faults:
            lines = self.lines.setdefault(fault.kind, array("q"))
            if lines and lines[-1] == fault.line:
                continue
            lines.append(fault.line)
            if fault.partner:
                self.partners.setdefault(fault.kind, array("q")).append(fault.partner)
            shown = self.examples.setdefault(fault.kind, [])
            if len(shown) < EXAMPLES:
                shown.append(fault._replace(shown=shorten(fault.shown)))


def shorten(text: str) -> str:
    """The beginning of a text, on one line, with what cannot be seen written out."""
    visible = "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)
    return visible if len(visible) <= SHOWN else f"{visible[: SHOWN - 1]}…"


@dataclass(frozen=True)
class Pairs:
    """Pairs that are read from their beginning each time; `counts` are the lines of each side, or of both."""

    read: Callable[[], Iterable[Pair]]
    counts: tuple[int, ...]

    def __len__(self) -> int:
        return max(self.counts)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.read())


AnyPairs = Pairs | Sequence[Pair]


def named_pairs(load: Callable[[], Iterable[Pair]]) -> Pairs:
    return Pairs(load, (sum(1 for _ in load()),))


def file_pairs(source: Path, target: Path) -> Pairs:
    """The pairs of two files, as many as the longer one has lines.

    Bytes that are not UTF-8 become the replacement character; a missing side is empty. A file that can be read only
    once, such as a pipe, is kept in memory.
    """
    sides = _reader(source), _reader(target)

    def read() -> Iterator[Pair]:
        for one, other in zip_longest(*(_texts(side()) for side in sides)):
            yield Pair(one or "", other or "")

    return Pairs(read, tuple(sum(1 for _ in side()) for side in sides))


def _reader(path: Path) -> Callable[[], Iterable[bytes]]:
    if path.is_file():
        return partial(_lines, path)
    held = list(_lines(path))
    return lambda: held


def at(pairs: AnyPairs, places: Iterable[int]) -> Iterator[tuple[int, Pair]]:
    """The lines (from 1) and pairs at these places (from 0); nothing is read where there are none."""
    wanted = set(places)
    for place, pair in enumerate(pairs if wanted else ()):
        if place in wanted:
            yield place + 1, pair
            wanted.remove(place)
            if not wanted:
                return


def _texts(lines: Iterable[bytes]) -> Iterator[str]:
    for place, data in enumerate(lines):
        text = data.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")
        yield text if place else text.removeprefix("\ufeff")


def _lines(path: Path) -> Iterator[bytes]:
    with open_binary(path) as file:
        yield from lines_of(file, LONGEST)
