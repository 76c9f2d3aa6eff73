"""What a check finds, and how it is gathered."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

EXAMPLES = 5
SHOWN = 60  # characters of a text


class FaultKind(str):
    """A kind of fault, by the words in which it is told."""


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
    """All faults of a split by kind: which lines with which partners, and of the first few what they say."""

    pairs: int = 0
    lines: dict[FaultKind, "array[int]"] = field(default_factory=dict)
    partners: dict[FaultKind, "array[int]"] = field(default_factory=dict)
    examples: dict[FaultKind, list[Fault]] = field(default_factory=dict)

    def add(self, faults: Iterable[Fault]) -> None:
        """Takes them in; a line has a kind of fault once, on whichever side."""
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
