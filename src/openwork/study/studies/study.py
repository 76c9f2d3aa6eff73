"""The result of a study: figures, the claims that they are held to, tables and charts.

Figures are plain values in a dataclass of the study's own; charts, tables and claims are made from them alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from openwork.inspection.plots import Series


class Variant(NamedTuple):
    """One of the things that a study compares: its key in the figures, and its name in words."""

    key: str
    words: str


class Chart(NamedTuple):
    """Several curves over the same axes, both of which may be logarithmic."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


class FiguresRow(NamedTuple):
    """A row of a table: what it is of, and its cells, already written out."""

    name: str
    cells: tuple[str, ...]


class Figures(NamedTuple):
    """A table; `columns` names the first column too."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[FiguresRow, ...]


def figures(title: str, columns: tuple[str, ...], rows: Iterable[Sequence[str]]) -> Figures:
    """A table of rows whose first cell is their name."""
    return Figures(title, columns, tuple(FiguresRow(name, tuple(cells)) for name, *cells in rows))


class Claim(NamedTuple):
    """A sentence about the figures, and whether they bear it out."""

    sentence: str
    holds: bool


class Result(NamedTuple):
    """What came out of one run of a study."""

    data: Any  # the study's own dataclass
    claims: tuple[Claim, ...]
    tables: tuple[Figures, ...]
    charts: tuple[Chart, ...]
