"""A step's value as tables of text: rounded, and of what is large the corners."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from openwork.inspection.attention_view import visible
from openwork.inspection.trace import Printed, Step

DECIMALS = 4
LARGEST, SMALLEST = 1e5, 1e-3  # of the values outside of this, the powers of ten are written
GAP = None  # stands where rows or columns are left out

Places = list[int | None]


@dataclass(frozen=True)
class Table:
    """One matrix of a value: `heading` says which, as pairs of axis and label. None in rows or columns is a gap.

    `cells` has one text for each row and column that is shown, without those of the gaps.
    """

    heading: tuple[tuple[str, str], ...]
    rows: tuple[str | None, ...]
    columns: tuple[str | None, ...]
    cells: tuple[tuple[str, ...], ...]
    values: np.ndarray

    def grid(self) -> Iterator[tuple[str | None, list[tuple[str, float] | None]]]:
        """Each row's name with its cells as text and value; None for a gap."""
        filled = zip(self.cells, self.values.tolist(), strict=True)
        for name in self.rows:
            cells = iter(()) if name is None else zip(*next(filled), strict=True)
            yield name, [None if name is None or column is None else next(cells) for column in self.columns]


@dataclass(frozen=True)
class Limits:
    """The most that is shown of rows, of columns, and of each axis before them."""

    rows: int
    columns: int
    slices: int


def corners(size: int, most: int) -> Places:
    """All places, or the first and the last of them with a gap between: `most` of them, the gap not counted."""
    most = max(most, 2)
    if size <= most:
        return list(range(size))
    last = max(1, most // 3)
    return [*range(most - last), GAP, *range(size - last, size)]


def writer(value: np.ndarray) -> Callable[[float], str]:
    """How the numbers of a value are written, all in one way: whole, with four decimals, or with powers of ten."""
    if value.dtype.kind in "biu":
        return lambda one: str(int(one))
    sizes = np.abs(value[np.isfinite(value)])
    largest = sizes.max() if sizes.size else 0.0
    if largest >= LARGEST or 0 < largest < SMALLEST:
        return lambda one: f"{one:.{DECIMALS - 1}e}" if np.isfinite(one) else str(float(one))
    return lambda one: _unsigned_zero(f"{one:.{DECIMALS}f}") if np.isfinite(one) else str(float(one))


def _unsigned_zero(written: str) -> str:
    return written.removeprefix("-") if not written.strip("-0.") else written


def tables(step: Step, limits: Limits) -> Iterator[Table | None]:
    """The value's matrices, over its last two axes; None stands for those left out. A vector is a row."""
    value, axes = step.value, step.axes
    if value.ndim < 2:
        value, axes = value.reshape((1,) * (2 - value.ndim) + value.shape), ("", "", *axes)[-2:]
    write = writer(value)
    before = [corners(size, limits.slices) for size in value.shape[:-2]]
    gone = False
    for places in product(*before):
        if GAP in places:
            if not gone:
                yield None
            gone = True
            continue
        gone = False
        index = tuple(place for place in places if place is not None)
        heading = tuple((axis, _label(step, axis, place)) for axis, place in zip(axes, index, strict=False))
        yield _table(step, value[index], (axes[-2], axes[-1]), heading, write, limits)


def _table(
    step: Step,
    matrix: np.ndarray,
    axes: tuple[str, str],
    heading: tuple[tuple[str, str], ...],
    write: Callable[[float], str],
    limits: Limits,
) -> Table:
    rows, columns = corners(matrix.shape[0], limits.rows), corners(matrix.shape[1], limits.columns)
    kept = [[place for place in places if place is not None] for places in (rows, columns)]
    shown = matrix[np.ix_(*kept)]
    return Table(
        heading,
        tuple(None if row is None else _label(step, axes[0], row) for row in rows),
        tuple(None if column is None else _label(step, axes[1], column) for column in columns),
        tuple(tuple(map(write, row)) for row in shown),
        shown,
    )


def _label(step: Step, axis: str, place: int) -> str:
    """What stands at a place of an axis: a piece, or its number; nothing where there is no axis."""
    if axis in step.labels:
        return visible(step.labels[axis][place])
    return str(place) if axis else ""


def shape_text(step: Step, translate: Callable[[str], str]) -> str:
    """The axes with their sizes: "head 4 × query 12 × key 12"; of a single number, that it is one."""
    if not step.axes:
        return translate("one number")
    return " × ".join(f"{axis} {size}" for axis, size in zip(step.axes, step.value.shape, strict=True))


def printed_value(printed: Printed, most: int = 24) -> str:
    """A document's figures in one line, rows in brackets; the first of them where they are many."""
    value = np.asarray(printed.value)
    if value.size <= most:
        return _nested(value.tolist())
    return f"{_nested(value.reshape(-1)[:most].tolist())[:-1]}, …]"


def _nested(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_nested, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
