"""A step's value as tables of text: rounded, and of large values the corners."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np

from openwork.inspection.attention_view import visible
from openwork.inspection.trace import Printed, Step

DECIMALS = 4
LARGEST, SMALLEST = 1e5, 1e-3  # values outside of this are written with powers of ten
GAP = None  # in place of rows or columns that are left out

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
    return lambda one: f"{one:z.{DECIMALS}f}" if np.isfinite(one) else str(float(one))


def tables(step: Step, limits: Limits) -> Iterator[Table | None]:
    """The value's matrices, over its last two axes; None in place of those left out. A vector is a row."""
    value, axes = step.value, step.axes
    if value.ndim < 2:
        value, axes = value.reshape((1,) * (2 - value.ndim) + value.shape), ("", "", *axes)[-2:]
    write, rows, columns = (
        writer(value),
        corners(value.shape[-2], limits.rows),
        corners(value.shape[-1], limits.columns),
    )
    kept = np.ix_(*([place for place in places if place is not None] for places in (rows, columns)))
    row_names, column_names = (
        tuple(None if place is None else _label(step, axis, place) for place in places)
        for axis, places in ((axes[-2], rows), (axes[-1], columns))
    )
    slices = product(*(corners(size, limits.slices) for size in value.shape[:-2]))
    for left_out, group in groupby(slices, key=lambda places: GAP in places):
        if left_out:
            yield None
            continue
        for index in group:
            known = zip(axes, (place for place in index if place is not None), strict=False)
            heading = tuple((axis, _label(step, axis, place)) for axis, place in known)
            shown = value[index][kept]
            yield Table(heading, row_names, column_names, tuple(tuple(map(write, row)) for row in shown), shown)


def _label(step: Step, axis: str, place: int) -> str:
    """The label of a place on an axis: a piece, or its number; empty where there is no axis."""
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
