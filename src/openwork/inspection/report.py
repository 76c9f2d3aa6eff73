"""The report of one training: a single HTML file that opens from the disk and loads nothing.

`ReportContent` holds plain values; whoever trained fills it. Every text in it is escaped, whatever it holds.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from markupsafe import Markup

from openwork.base.files import atomic_write_text
from openwork.base.pages import render, translator
from openwork.inspection.attention_view import COLUMN_TITLE, ROW_TITLE, SCALE_TITLE, RowLabel, attention_map
from openwork.inspection.plots import Series, line_chart

# What is shown as a name beside its value: ("batch", "4,096 tokens").
Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Curve:
    """One chart; several series share its axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_y: bool = False
    caption: str = ""


@dataclass(frozen=True)
class ScoreTable:
    """Scores as they are to be read, already written out; the first column names the row and is not a number."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Sample:
    """One sentence, the output of the system, and the reference.

    `right` is None where right and wrong mean nothing, as for free translation; `reference` is empty where there is
    none. The languages are tags such as "de" or "zh-Hans", which help a browser to choose fonts and voices.
    """

    source: str
    translation: str
    reference: str = ""
    right: bool | None = None
    source_language: str = ""
    target_language: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class AttentionExample:
    """The weights (T, S) of one sentence, with the labels of `attention_map`."""

    title: str
    weights: np.ndarray
    row_labels: tuple[RowLabel, ...]
    column_labels: tuple[str, ...]
    caption: str = ""


@dataclass(frozen=True)
class NextStep:
    """Something to try, and the command for it if there is one."""

    description: str
    command: str = ""


@dataclass(frozen=True, eq=False)
class ReportContent:
    """Everything that a report says. A part that is left empty has no section."""

    title: str
    summary: str = ""
    headline: Facts = ()  # the few figures that matter: ("exact match", "99.6 %")
    settings: Facts = ()  # what was trained, and how
    curves: tuple[Curve, ...] = ()
    scores: tuple[ScoreTable, ...] = ()
    samples: tuple[Sample, ...] = ()
    attention: tuple[AttentionExample, ...] = ()
    machine: Facts = ()  # the machine, and the time that each part took
    next_steps: tuple[NextStep, ...] = ()
    language: str = field(default="en")  # of the report's own words


def write_report(path: Path, content: ReportContent) -> None:
    """Write the report as one file, whole or not at all. OpenworkError: the file cannot be written."""
    atomic_write_text(path, render_report(content))


def render_report(content: ReportContent) -> str:
    """The HTML of a report."""
    translate = translator(content.language)

    def drawn(part: Curve | AttentionExample) -> Markup:
        if isinstance(part, AttentionExample):
            names = map(translate, (ROW_TITLE, COLUMN_TITLE, SCALE_TITLE))
            titles = dict(zip(("row_title", "column_title", "scale_title"), names, strict=True))
            return Markup(attention_map(part.weights, part.row_labels, part.column_labels, part.title, **titles))
        series = [replace(one, name=translate(one.name)) for one in part.series]
        title, across, upward = map(translate, (part.title, part.x_label, part.y_label))
        return Markup(line_chart(series, title, across, upward, log_y=part.log_y))

    return render("report.html", content.language, title=content.title, content=content, drawn=drawn)
