"""A trace as one HTML file: a section a step, its inputs as links, its matrices as tables with named rows."""

from collections.abc import Callable

import numpy as np

from openwork.inspection.page import FOOTER, page, scrolling
from openwork.inspection.svg import Markup, element
from openwork.inspection.trace import Printed, Statement, Step, Trace, title_of
from openwork.inspection.trace_table import Limits, Table, printed_value, shape_text, tables

Translate = Callable[[str], str]

LIMITS = Limits(rows=24, columns=24, slices=16)
SLACK = 1e-9  # rows of weights add up to 1 but for rounding
WIDE = 12  # columns: beyond these a table is printed in small type, so that paper holds it
FULL = 50  # per cent of the colour behind a weight of 1: the number on it stays readable in both themes

STYLE = """
main, footer { max-width: 72rem; }
nav ol { columns: 22rem; font-size: .9rem; }
nav a, dd a { color: var(--blue); overflow-wrap: anywhere; }
section:target h2 { color: var(--blue); }
h2 .shape { color: var(--muted); font-weight: 400; font-size: .9rem; margin-inline-start: .75rem; }
h2 { overflow-wrap: anywhere; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .92rem; margin: .5rem 0; }
dl.facts dt { color: var(--muted); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
table.matrix th, table.matrix td { padding: .15rem .5rem; border: 1px solid var(--rule); }
table.matrix caption { text-align: start; color: var(--muted); white-space: nowrap; }
table.matrix thead th { color: var(--muted); text-align: end; }
table.matrix tbody th { position: sticky; inset-inline-start: 0; background: var(--paper); white-space: nowrap; }
section > p { max-width: 60rem; }
@media print {
  nav { display: none; }
  table.matrix { font-size: 8pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  table.matrix tbody th { position: static; }
  table.wide { font-size: 5.5pt; }
  table.wide th, table.wide td { padding: 0 .2rem; }
}
"""


def trace_page(trace: Trace, language: str, translate: Translate) -> str:
    """The HTML of a trace, in the language that `translate` gives."""
    contents = [element("li", element("a", step.name, href=f"#{_anchor(number)}")) for number, step in _numbered(trace)]
    anchors = {step.name: _anchor(number) for number, step in _numbered(trace)}
    assumptions = [element("li", translate(assumption)) for assumption in trace.assumptions]
    body = [
        element("h1", translate(trace.title)),
        element("ul", *assumptions, class_="note") if assumptions else Markup(""),
        element("nav", element("ol", *contents), aria_label=translate("steps")),
        *(_section(number, step, anchors, translate) for number, step in _numbered(trace)),
    ]
    return page(translate(trace.title), body, language, style=STYLE, footer=translate(FOOTER))


def _numbered(trace: Trace) -> list[tuple[int, Step]]:
    return list(enumerate(trace.steps, start=1))


def _anchor(number: int) -> str:
    return f"step-{number}"


def _section(number: int, step: Step, anchors: dict[str, str], translate: Translate) -> Markup:
    shape = element("span", shape_text(step, translate), class_="shape")
    heading = element("h2", f"{number}. {step.name}", shape)
    shown = [element("p", "…") if table is None else _matrix(step, table) for table in tables(step, LIMITS)]
    printed = [_printed(one, translate) for one in step.printed]
    said = [_said(one, translate) for one in step.said]
    parts = [heading, element("p", translate(step.title)), _facts(step, anchors, translate), *shown, *printed, *said]
    return element("section", *parts, id=_anchor(number))


def _facts(step: Step, anchors: dict[str, str], translate: Translate) -> Markup:
    links: list[Markup | str] = []
    for name in step.inputs:
        links += [", "] * bool(links)
        links.append(element("a", name, href=f"#{anchors[name]}") if name in anchors else name)
    facts: list[tuple[str, list[Markup | str]]] = [
        (translate("equation"), [element("code", step.equation)] if step.equation else []),
        (translate("origin"), [step.source] if step.source else []),
        (translate("made from"), links),
        (translate("weights"), [", ".join(step.parameters)] if step.parameters else []),
        (translate("code"), [element("code", step.code)] if step.code else []),
    ]
    rows = [part for name, fact in facts if fact for part in (element("dt", name), element("dd", *fact))]
    return element("dl", *rows, class_="facts") if rows else Markup("")


def _printed(printed: Printed, translate: Translate) -> Markup:
    verdicts = {
        "equal": (f"✓ {translate('equal')}", "right"),
        "rounding": (f"✓ {translate('equal but for rounding')}", "right"),
        "wrong": (f"✗ {translate('wrong')}", "wrong"),
    }
    verdict, look = verdicts[printed.verdict]
    told = f"{translate('printed in')} {title_of(printed.document)}: {printed_value(printed)}: "
    reason = f"; {translate(printed.reason)}" if printed.reason else ""
    return element("p", told, element("span", verdict, class_=look), reason)


def _said(said: Statement, translate: Translate) -> Markup:
    verdict, look = (translate("borne out"), "right") if said.holds else (translate("not borne out"), "wrong")
    told = f"{translate('said in')} {title_of(said.document)}: {translate(said.sentence)}: "
    mark = element("span", f"{'✓' if said.holds else '✗'} {verdict}", class_=look)
    return element("p", told, mark, f"; {translate(said.found)}")


def _matrix(step: Step, table: Table) -> Markup:
    """One matrix; weights are darker the larger they are."""
    heading = ", ".join(f"{axis} {label}" for axis, label in table.heading)
    shades = _are_weights(step)
    filled = iter(zip(table.cells, table.values, strict=True))
    rows = [
        _gap_row(len(table.columns)) if name is None else _matrix_row(name, table.columns, *next(filled), shades)
        for name in table.rows
    ]
    names = [element("th", "…" if name is None else name, scope="col") for name in table.columns]
    head = element("thead", element("tr", element("td", ""), *names)) if any(table.columns) else Markup("")
    caption = element("caption", heading) if heading else Markup("")
    look = "matrix wide" if len(table.columns) > WIDE else "matrix"
    return scrolling(heading or step.name, element("table", caption, head, element("tbody", *rows), class_=look))


def _matrix_row(
    name: str, columns: tuple[str | None, ...], cells: tuple[str, ...], values: np.ndarray, shades: bool
) -> Markup:
    filled = iter(zip(cells, values, strict=True))
    written = []
    for column in columns:
        if column is None:
            written.append(element("td", "…"))
            continue
        cell, value = next(filled)
        shade = f"background:color-mix(in srgb, var(--blue) {FULL * float(value):.0f}%, transparent)"
        written.append(element("td", cell, class_="number", style=shade if shades else None))
    return element("tr", element("th", name, scope="row"), *written)


def _gap_row(columns: int) -> Markup:
    return element("tr", *(element("td", "…") for _ in range(columns + 1)))


def _are_weights(step: Step) -> bool:
    """Whether the value is a distribution in each row: attention weights or probabilities."""
    if step.value.ndim < 2 or not step.value.size or step.value.dtype.kind != "f":
        return False
    inside = bool(np.isfinite(step.value).all()) and step.value.min() >= 0
    return inside and step.value.sum(-1).max() <= 1 + SLACK
