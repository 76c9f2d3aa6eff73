"""A map of attention for a terminal: block shades with digits, in columns of display cells; and tables of numbers.

A Chinese character takes two display cells. What is too wide for the terminal is cut into parts, one under the other.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Bool

from openwork.base.phrases import Padded, shown_width
from openwork.inspection.attention_view import AttentionMap
from openwork.inspection.trace_text import fitted, wrapped

NARROWEST = 40  # columns; on less, lines are longer than the terminal
LONGEST_NAME = 24  # of a row
SHADES = " ░▒▓█"  # of weights below 0.05, 0.25, 0.5 and 0.75, and above
BOUNDS = (0.05, 0.25, 0.5, 0.75)
MASKED = "-"
GAP = " "

Columns = Sequence[Sequence[str]]
"""Of a table: each its name and its cells."""


def map_lines(
    shown: AttentionMap,
    width: int,
    translate: Callable[[str], str],
    masked: Bool[np.ndarray, "query key"] | None = None,
) -> Iterator[str]:
    """The map in lines of at most `width` columns: a cell is a shade and the weight, and where none may be a hyphen.

    The columns have the names of the keys where all fit side by side, else numbers that are explained below.
    """
    width = max(width, NARROWEST)
    names = [fitted(name, min(LONGEST_NAME, width // 2)) for name in shown.row_names]
    hidden = np.zeros(shown.weights.shape, bool) if masked is None else masked
    cells = [
        [MASKED if is_hidden else cell(float(weight)) for weight, is_hidden in zip(*column, strict=True)]
        for column in zip(shown.weights.T, hidden.T, strict=True)
    ]
    keys = [fitted(key, LONGEST_NAME) for key in shown.column_names]
    is_narrow = _table_width(names, [[key, *one] for key, one in zip(keys, cells, strict=True)]) <= width
    heads = keys if is_narrow else [str(number) for number in range(len(keys))]
    yield from table_lines(["", *names], [[head, *one] for head, one in zip(heads, cells, strict=True)], width)
    if not is_narrow:
        legend = "  ".join(f"{number}={key}" for number, key in enumerate(keys))
        yield from wrapped(f"{translate(shown.column_title)}: {legend}", width, "  ")


def cell(weight: float) -> str:
    """A shade and two decimals: 0.537 is "▓.54", and what rounds to 1 is "█1.0"."""
    shade = SHADES[sum(weight >= bound for bound in BOUNDS)]
    return f"{shade}1.0" if weight >= 0.995 else f"{shade}{weight:.2f}".replace("0.", ".")


def table_lines(names: Sequence[str], columns: Columns, width: int) -> Iterator[str]:
    """Names on the left, the columns right-aligned, as many side by side as fit; the others below.

    The first name and the first cell of each column are the head.
    """
    beside = max(map(shown_width, names), default=0)
    for part in _parts(beside, columns, width):
        for place, name in enumerate(names):
            line = Padded(name, beside) + "".join(
                GAP + Padded(column[place], _width(column), right=True) for column in part
            )
            yield line.rstrip()


def _parts(beside: int, columns: Columns, width: int) -> Iterator[list[Sequence[str]]]:
    part: list[Sequence[str]] = []
    used = beside
    for column in columns:
        needed = len(GAP) + _width(column)
        if part and used + needed > width:
            yield part
            part, used = [], beside
        part.append(column)
        used += needed
    yield part


def _table_width(names: Sequence[str], columns: Columns) -> int:
    return max(map(shown_width, names), default=0) + sum(len(GAP) + _width(column) for column in columns)


def _width(column: Sequence[str]) -> int:
    return max(map(shown_width, column))
