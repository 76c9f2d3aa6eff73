"""A process of several that exist only on paper: it hears what a test says that the others would."""

from collections.abc import Sequence
from typing import Any

from openwork.machine.processes import Processes


class Scripted(Processes):
    """The process `rank` of `count`; a gathering gives `heard`, or the same value from all."""

    def __init__(self, rank: int = 0, count: int = 2, heard: Sequence[Any] | None = None) -> None:
        self.rank, self.count = rank, count
        self.heard = heard

    def gather(self, value: Any) -> list[Any]:
        return [value] * self.count if self.heard is None else list(self.heard)
