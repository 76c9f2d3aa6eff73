"""A report as plain values, and its two forms: one offline HTML file, and Markdown with pictures beside it.

Sentences are in English, as the catalogues know them; names and numbers are `AsIs`, so that no word of them is
translated. Every text is escaped in both forms, whatever it holds.
"""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from openwork.base.files import atomic_write_text
from openwork.base.messages import msg
from openwork.base.pages import legal, render, translator
from openwork.base.phrases import AsIs, Translate
from openwork.base.printing import one_line
from openwork.inspection.intervals import IntervalChart
from openwork.inspection.plots import Chart

FIGURES = "figures"
PAGE, MARKDOWN = "report.html", "report.md"


@dataclass(frozen=True)
class ReportTable:
    """Rows of cells; the first column names the row, and those in `texts` are words, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class ReportFigure:
    """A picture and its data."""

    stem: str  # of its files
    chart: Chart | IntervalChart
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    @property
    def title(self) -> str:
        """What the picture shows."""
        return self.chart.title


@dataclass(frozen=True)
class ReportSection:
    """A heading and what follows it: sentences first, then tables and pictures."""

    title: str
    sentences: Sequence[str] = ()
    parts: Sequence[ReportTable | ReportFigure] = ()


@dataclass(frozen=True)
class ReportDocument:
    """A whole report; `facts` are a name and a value each."""

    title: str
    summary: str
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[ReportSection] = field(default=())


def write_document(folder: Path, document: ReportDocument, language: str) -> list[Path]:
    """Writes report.html, report.md, and figures/*.svg with *.csv; the paths that were written."""
    translate = translator(language)
    figures = [part for section in document.sections for part in section.parts if isinstance(part, ReportFigure)]
    drawn = {figure.stem: figure.chart.drawn(translate) for figure in figures}
    (folder / FIGURES).mkdir(exist_ok=True)
    written = {folder / FIGURES / f"{figure.stem}.csv": csv_text(figure) for figure in figures}
    written |= {folder / FIGURES / f"{stem}.svg": picture + "\n" for stem, picture in drawn.items()}
    values = {"document": document, "is_table": lambda part: isinstance(part, ReportTable)}
    page = render("experiment.html", language, title=document.title, drawn=drawn.__getitem__, **values)
    markdown = render("experiment.md", language, md=_markdown(translate), folder=FIGURES, **values)
    written |= {folder / PAGE: page, folder / MARKDOWN: re.sub(r"\n{3,}", "\n\n", markdown).strip() + "\n"}
    for path, text in written.items():
        atomic_write_text(path, text)
    return list(written)


def csv_text(figure: ReportFigure) -> str:
    """The data of a figure: a line of names, then the numbers in full."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([list(figure.columns), *map(list, figure.rows)])
    return text.getvalue()


def _markdown(translate: Translate) -> Callable[[str], Markup]:
    """Escapes a text for Markdown, after it was translated: one line, in which nothing is markup or HTML."""

    def escape(text: str) -> Markup:
        line = one_line(legal(translate(text)))
        line = line.replace("&", "&amp;").replace("<", "&lt;")
        return Markup(re.sub(r"([\\`*_\[\]|~#])", r"\\\1", line))

    return escape


def number(value: float | None, digits: int = 2) -> str:
    """A number for a cell; a dash where there is none."""
    return AsIs("–" if value is None or value != value else f"{value:.{digits}f}")


def signed(value: float, digits: int = 2) -> str:
    """A difference, with its sign."""
    return AsIs(f"{value:+.{digits}f}")


def between(low: float, high: float) -> str:
    """An interval; the same in every language."""
    return AsIs(f"{low:.2f} … {high:.2f}")


def over_seeds(interval: tuple[float, float] | None) -> str:
    """The interval of a mean over seeds, where there is one."""
    return between(*interval) if interval else msg("one seed")


def probability(p: float) -> str:
    """A p-value; a dash where nothing could be tested."""
    return AsIs("–" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}")


def counted(value: float | None) -> str:
    """A count with thousands, or a power of ten where it is very large."""
    if value is None:
        return AsIs("–")
    return AsIs(f"{value:.2e}" if abs(value) >= 1e9 else f"{value:,.0f}")
