"""The ids of the special symbols pad, unknown, start and end."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SymbolIds:
    """The ids of the four special symbols, with which every vocabulary begins."""

    pad: int = 0
    unknown: int = 1
    start: int = 2
    end: int = 3

    @property
    def forbidden(self) -> tuple[int, ...]:
        """Symbols that no target contains."""
        return self.pad, self.unknown, self.start


SYMBOL_IDS = SymbolIds()
