"""The page of an object of the paper: as JSON, for a terminal, and for docs/paper.md, in the reader's language."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.inspection.trace import Trace
from openwork.inspection.trace_table import shape_text
from openwork.inspection.trace_text import NARROWEST, trace_text, wrapped
from openwork.study.paper import figures as drawn
from openwork.study.paper import formulas, methods, tables, training
from openwork.study.paper.contents import CONTENTS
from openwork.study.paper.exhibit import EXHIBITS, CodeLines, Exhibit, code_lines
from openwork.study.studies.showing import table_lines
from openwork.study.studies.study import Figures, figures

SCHEMA = 1  # of `to_json`; a change that readers must know of raises it
FILES = (formulas, methods, drawn, tables, training)  # imported, they fill EXHIBITS

SOURCES, ROOT = "../src/", "../"  # from docs/

Translate = Callable[[str], str]


class Page(NamedTuple):
    """All that is shown of one object, its numbers and lines of code made just now."""

    name: str
    title: str
    section: str
    formula: str
    text: tuple[str, ...]
    code: tuple[CodeLines, ...]
    tests: tuple[str, ...]
    trace: Trace | None
    tables: tuple[Figures, ...]
    values: Mapping[str, Any]
    drawing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "schema": SCHEMA,
            **self._asdict(),
            "code": [one.to_json() for one in self.code],
            "trace": None if self.trace is None else self.trace.to_json(),
            "values": dict(self.values),
            "tables": [
                {"title": table.title, "columns": table.columns, "rows": [[row.name, *row.cells] for row in table.rows]}
                for table in self.tables
            ],
        }


def page_of(name: str) -> Page:
    """The page of an object of the list of contents."""
    listed = next(one for one in CONTENTS if one.name == name)
    return _page(EXHIBITS[name], listed.title, listed.section)


def row_page(row: str) -> Page:
    """The page of one row of table 3. UsageError: there is no such row."""
    counted = tables.find_row(row)
    listed = next(one for one in CONTENTS if one.name == "table 3")
    title = Joined(listed.title, *([": ", AsIs(counted.note)] if counted.note else []))
    return _page(tables.row_exhibit(counted), title, listed.section)


def _page(one: Exhibit, title: str, section: str) -> Page:
    code = tuple(map(code_lines, one.code))
    return Page(one.name, title, section, one.formula, one.text, code, one.tests, *one.compute())


def page_text(page: Page, width: int, translate: Translate) -> str:
    """The whole page; what can be broken is at most `width` columns wide, tables and code are as wide as they are."""
    width = max(width, NARROWEST)
    heading = Joined(AsIs(page.name), ": ", page.title, " (", f"section {page.section}", ")")
    lines = list(wrapped(translate(heading), width, ""))
    if page.formula:
        lines += ["", *wrapped(f"  {page.formula}", width, "    ")]
    if page.drawing:
        lines += ["", *(f"  {line}" for line in page.drawing)]
    for paragraph in page.text:
        lines += ["", *wrapped(translate(paragraph), width, "")]
    lines += ["", translate("code")]
    for code in page.code:
        lines += ["", *_code(code)]
    lines += ["", translate("tests"), *(f"  {test}" for test in page.tests)]
    for table in page.tables:
        lines += ["", *map(translate, table_lines(table))]
    if page.trace is not None:
        lines += ["", trace_text(page.trace, width, translate)]
    return "\n".join(line.rstrip() for line in lines)


def _code(code: CodeLines) -> Iterator[str]:
    """The place and the lines, each with its number."""
    yield f"  {code.file}:{code.first}  {code.name}"
    width = len(str(code.last))
    for number, line in enumerate(code.lines, start=code.first):
        yield f"  {number:>{width}}  {line}"


def document(pages: Sequence[Page], translate: Translate) -> str:
    """docs/paper.md. It names code without line numbers, so that it changes only where the paper's code does."""
    overview = figures(
        "",
        ("object of the paper", "section", "what", "code", "tests"),
        [
            (
                AsIs(f"[{page.name}](#{page.name.replace(' ', '-')})"),
                page.section,
                translate(page.title),
                _files((code.file for code in page.code), SOURCES, "openwork/"),
                _files((test.partition("::")[0] for test in page.tests), ROOT, "tests/"),
            )
            for page in pages
        ],
    )
    introduction = msg(
        "What Vaswani et al. number in Attention Is All You Need (2017), and the formulas that they do not number: "
        "which code each of them is here, and which tests hold it to that."
    )
    origin = msg(
        "This document is written by `openwork paper --markdown` and held equal to it by a test; `openwork paper eq 1` "
        "shows the lines of code and the numbers of a forward pass too."
    )
    lines = [f"# {translate('The paper, object by object')}"]
    lines += ["", translate(introduction), "", translate(origin), "", *_markdown_table(overview, translate)]
    for page in pages:
        lines += ["", *_section(page, translate)]
    return "\n".join(lines) + "\n"


def _files(files: Iterable[str], above: str, folder: str) -> str:
    """Links to the files, each once, named without their folder."""
    return ", ".join(f"[`{file.removeprefix(folder)}`]({above}{file})" for file in dict.fromkeys(files))


def _section(page: Page, translate: Translate) -> Iterator[str]:
    """A page in Markdown. Of what is calculated it has the shapes; the numbers are left to the command."""
    yield f"## {page.name}"
    yield ""
    yield f"**{translate(page.title)}** ({translate(f'section {page.section}')}), `openwork paper {page.name}`"
    if page.formula:
        yield from ("", f"    {page.formula}")
    if page.drawing:
        yield from ("", *(f"    {line}" for line in page.drawing))
    for paragraph in page.text:
        yield from ("", translate(paragraph))
    tests = (test.partition("::") for test in page.tests)
    yield ""
    yield f"- {translate('code')}: " + ", ".join(f"[`{code.name}`]({SOURCES}{code.file})" for code in page.code)
    yield f"- {translate('tests')}: " + ", ".join(f"[`{name}`]({ROOT}{file})" for file, _, name in tests)
    steps = figures(
        "" if page.trace is None else page.trace.title,
        ("step of the pass", "what", "equation", "shape"),
        [
            (AsIs(f"`{step.name}`"), translate(step.title), f"`{step.equation}`", shape_text(step, translate))
            for step in (page.trace.steps if page.trace else ())
        ],
    )
    for table in (steps, *page.tables):
        if table.title:
            yield from ("", f"*{translate(table.title)}*", "", *_markdown_table(table, translate))


def _markdown_table(table: Figures, translate: Translate) -> Iterator[str]:
    rows = ([translate(row.name), *row.cells] for row in table.rows)
    for cells in ([*map(translate, table.columns)], ["---"] * len(table.columns), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
