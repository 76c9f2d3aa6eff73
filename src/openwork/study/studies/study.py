"""What a study is: sizes in, figures out, and the claims that the figures are held to.

Figures are plain values in a dataclass of the study's own; charts, tables and claims are made from them alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from openwork.base.config import Settings

SCHEMA = 1  # of `to_json`; a change that readers must know of raises it


@dataclass(frozen=True)
class Variant:
    """One of the things that a study compares: its key in the figures, and its name in words."""

    key: str
    words: str


@dataclass(frozen=True)
class ChartLine:
    """A named curve: (x, y) in the order of x."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Chart:
    """Several curves over the same axes, both of which may be logarithmic."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class FiguresRow:
    """A row of a table: what it is of, and its cells, already written out."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """A table; `columns` names the first column too."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[FiguresRow, ...]


def figures(title: str, columns: tuple[str, ...], rows: Iterable[Sequence[str]]) -> Figures:
    """A table of rows whose first cell is their name."""
    return Figures(title, columns, tuple(FiguresRow(name, tuple(cells)) for name, *cells in rows))


@dataclass(frozen=True)
class Claim:
    """A sentence about the figures, and whether they bear it out."""

    sentence: str
    holds: bool


@dataclass(frozen=True)
class Result:
    """What came out of one run of a study."""

    data: Any  # the study's own dataclass
    claims: tuple[Claim, ...]
    tables: tuple[Figures, ...]
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Study:
    """One question, and how it is answered.

    Args:
        name: what it is asked for by.
        title: what is studied.
        see: what to see in the figures.
        source: who says so.
        settings: the sizes, with their defaults.
        run: from sizes to figures and claims.
    """

    name: str
    title: str
    see: str
    source: str
    settings: type[Settings]
    run: Callable[[Any], Result]

    def summary(self) -> dict[str, Any]:
        """What it is, with the defaults of its sizes, as plain values."""
        return {
            "study": self.name,
            "title": self.title,
            "see": self.see,
            "source": self.source,
            "settings": self.settings().model_dump(mode="json"),
        }

    def to_json(self, sizes: Settings, result: Result) -> dict[str, Any]:
        """Plain values, with the version of their form."""
        return {
            "schema": SCHEMA,
            **self.summary(),
            "settings": sizes.model_dump(mode="json"),
            "data": asdict(result.data),
            "claims": [asdict(claim) for claim in result.claims],
        }
