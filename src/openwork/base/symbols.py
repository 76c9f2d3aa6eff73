"""The ids of the four symbols that every vocabulary begins with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SymbolIds:
    """The ids of the four symbols: every vocabulary begins with them, and every search must know them."""

    pad: int = 0
    unknown: int = 1
    start: int = 2
    end: int = 3

    @property
    def forbidden(self) -> tuple[int, ...]:
        """What no target contains: only real tokens and the end symbol are ever produced."""
        return self.pad, self.unknown, self.start


SYMBOL_IDS = SymbolIds()
