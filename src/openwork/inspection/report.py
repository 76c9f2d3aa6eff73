"""The report of one training: a single HTML file that opens from the disk and asks nothing of any network.

`ReportContent` holds plain values; whoever trained fills it. Every text in it is escaped, whatever it holds.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from openwork.base.files import atomic_write_text
from openwork.inspection.attention_view import RowLabel, attention_map
from openwork.inspection.page import page, scrolling
from openwork.inspection.plots import Series, line_chart
from openwork.inspection.svg import Markup, element

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
    """One sentence, what the system made of it, and what was expected.

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
    body = [
        element("h1", content.title),
        element("p", content.summary, class_="summary") if content.summary else Markup(""),
        _headline(content.headline),
        _section("What was trained", _facts(content.settings)),
        _section("How it learnt", *(_curve(curve) for curve in content.curves)),
        _section("How good it is", *(_score_table(table) for table in content.scores)),
        _section("What it makes of held-out examples", _samples(content.samples)),
        _section("Where it looks", *(_attention(example) for example in content.attention)),
        _section("Machine and times", _facts(content.machine)),
        _section("What to try next", *(_next_step(step) for step in content.next_steps)),
    ]
    return page(content.title, body, content.language)


def _section(heading: str, *parts: Markup) -> Markup:
    """A section with its heading; nothing where there is nothing to show."""
    shown = [part for part in parts if part]
    return element("section", element("h2", heading), *shown) if shown else Markup("")


def _headline(facts: Facts) -> Markup:
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", *pairs, class_="headline") if pairs else Markup("")


def _facts(facts: Facts) -> Markup:
    rows = [
        element("tr", element("th", name, scope="row"), element("td", value, class_="text")) for name, value in facts
    ]
    return scrolling("facts", element("table", element("tbody", *rows))) if rows else Markup("")


def _curve(curve: Curve) -> Markup:
    chart = line_chart(curve.series, curve.title, curve.x_label, curve.y_label, log_y=curve.log_y)
    return _figure(curve.title, Markup(chart), curve.caption)


def _attention(example: AttentionExample) -> Markup:
    drawn = attention_map(example.weights, example.row_labels, example.column_labels, example.title)
    return _figure(example.title, Markup(drawn), example.caption)


def _figure(name: str, drawing: Markup, caption: str) -> Markup:
    below = element("figcaption", caption) if caption else Markup("")
    return element("figure", scrolling(name, drawing), below)


def _score_table(table: ScoreTable) -> Markup:
    def header(place: int, name: str) -> Markup:
        return element("th", name, scope="col", class_="number" if place else None)

    head = element("tr", *(header(place, name) for place, name in enumerate(table.columns)))
    rows = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell, class_="number") for cell in row[1:]))
        for row in table.rows
    ]
    whole = element("table", element("thead", head), element("tbody", *rows))
    note = element("p", table.caption, class_="note") if table.caption else Markup("")
    return Markup(element("h3", table.title) + note + scrolling(table.title, whole))


def _samples(samples: tuple[Sample, ...]) -> Markup:
    """One table; columns that no sample fills are left out."""
    if not samples:
        return Markup("")
    judged = any(sample.right is not None for sample in samples)
    expected = any(sample.reference for sample in samples)
    noted = any(sample.note for sample in samples)
    names = [("", judged), ("source", True), ("output", True), ("expected", expected), ("", noted)]
    head = element("tr", *(element("th", name, scope="col") for name, shown in names if shown))
    rows = []
    for sample in samples:
        cells = [
            (_verdict(sample.right), judged),
            (_words(sample.source, sample.source_language), True),
            (_words(sample.translation, sample.target_language), True),
            (_words(sample.reference, sample.target_language), expected),
            (element("td", sample.note, class_="note"), noted),
        ]
        rows.append(element("tr", *(cell for cell, shown in cells if shown)))
    table = element("table", element("thead", head), element("tbody", *rows))
    return scrolling("examples", table)


def _verdict(right: bool | None) -> Markup:
    if right is None:
        return element("td", "")
    return element("td", "✓ right", class_="right") if right else element("td", "✗ wrong", class_="wrong")


def _words(content: str, language: str) -> Markup:
    """Text of the corpus: in its own language, and in its own direction."""
    return element("td", content, class_="text", lang=language or None, dir="auto")


def _next_step(step: NextStep) -> Markup:
    command = element("pre", element("code", step.command)) if step.command else Markup("")
    return Markup(element("p", step.description) + command)
