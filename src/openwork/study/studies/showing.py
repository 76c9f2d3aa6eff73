"""A study's result for a person: lines for a terminal, or one offline HTML page."""

from collections.abc import Callable, Iterable, Iterator

from openwork.base.outputs import PAGE_MARK
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.inspection.look import FONTS, NUMBER_FONTS, ROLES
from openwork.inspection.plots import Series, line_chart
from openwork.inspection.svg import Markup, element
from openwork.study.studies.study import Chart, Figures, Result, Study

Translate = Callable[[str], str]

_NUMBER = "+-0123456789"  # how a number begins
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = f"""
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 {FONTS}; }}
main {{ max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.25rem; }}
h1 {{ font-size: 1.6rem; line-height: 1.3; }}
h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
.note {{ color: var(--muted); font-size: .9rem; }}
.holds {{ color: var(--green); }}
.fails {{ color: var(--orange); }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .92rem; }}
th, td {{ padding: .3rem 1.25rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: end; }}
th:first-child, td:first-child {{ text-align: start; }}
th {{ color: var(--muted); font-weight: 400; }}
td {{ font-family: {NUMBER_FONTS}; }}
"""


def list_lines(studies: Iterable[Study]) -> Iterator[str]:
    """Each study's name and title, and the sizes that can be set."""
    for study in studies:
        yield AsIs(study.name)
        yield Joined("  ", study.title)
        sizes = study.settings().model_dump(mode="json")
        yield AsIs("  " + "  ".join(f"{key}={value}" for key, value in sizes.items()))
        yield ""
    yield "openwork study NAME runs one; --set KEY=VALUE changes a size."


def result_lines(study: Study, result: Result) -> Iterator[str]:
    """What to see, whether it is there, and the tables."""
    yield study.title
    yield study.see
    yield Joined("after: ", AsIs(study.source))
    yield ""
    for claim in result.claims:
        yield Joined("holds: " if claim.holds else "does not hold: ", claim.sentence)
    for table in result.tables:
        yield ""
        yield from table_lines(table)


def table_lines(table: Figures) -> Iterator[str]:
    """Its title, and its rows in columns: numbers to the right, words to the left."""
    rows = [table.columns, *((row.name, *row.cells) for row in table.rows)]
    columns = list(zip(*rows, strict=True))
    widths = [max(map(shown_width, column)) for column in columns]
    numbers = [all(not cell or cell[0] in _NUMBER for cell in column[1:]) for column in columns]
    yield table.title
    for row in rows:
        cells = [Padded(cell, width, right=right) for cell, width, right in zip(row, widths, numbers, strict=True)]
        yield Joined(*[part for cell in cells for part in ("  ", cell)])


def page(study: Study, result: Result, language: str, translate: Translate) -> str:
    """One HTML file that asks nothing of any network: what to see, the claims, the charts, the tables."""
    claims = [
        element(
            "li",
            element("b", translate("holds: " if claim.holds else "does not hold: ")),
            translate(claim.sentence),
            class_="holds" if claim.holds else "fails",
        )
        for claim in result.claims
    ]
    body = element(
        "main",
        element("h1", translate(study.title)),
        element("p", translate(study.see)),
        element("p", translate("after: ") + study.source, class_="note"),
        element("ul", *claims),
        *(element("figure", _drawn(chart, translate)) for chart in result.charts),
        *(_html_table(table, translate) for table in result.tables),
    )
    head = element(
        "head",
        Markup(f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup(PAGE_MARK),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", translate(study.title)),
        element("style", Markup(_colours() + _STYLE)),
    )
    return "<!doctype html>\n" + element("html", head, element("body", body), lang=language) + "\n"


def _colours() -> str:
    light, dark = (
        ";".join(f"--{role}:{getattr(colour, theme)}" for role, colour in ROLES.items()) for theme in ("light", "dark")
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _drawn(chart: Chart, translate: Translate) -> Markup:
    series = [Series(translate(line.name), line.points) for line in chart.lines]
    title, across, upward = map(translate, (chart.title, chart.x_label, chart.y_label))
    return Markup(line_chart(series, title, across, upward, log_x=chart.log_x, log_y=chart.log_y))


def _html_table(table: Figures, translate: Translate) -> Markup:
    head = element("tr", *(element("th", translate(column)) for column in table.columns))
    rows = (
        element("tr", element("td", translate(row.name)), *(element("td", cell) for cell in row.cells))
        for row in table.rows
    )
    whole = element("table", element("thead", head), element("tbody", *rows))
    return Markup(element("h2", translate(table.title)) + element("div", whole, class_="scroll"))
