"""A page of the paper for a terminal, in the reader's language."""

from collections.abc import Callable, Iterator

from openwork.base.phrases import AsIs, Joined
from openwork.inspection.trace_text import NARROWEST, trace_text, wrapped
from openwork.study.paper.code_lines import CodeLines
from openwork.study.paper.exhibits import Page
from openwork.study.studies.showing import table_lines

Translate = Callable[[str], str]


def page_text(page: Page, width: int, translate: Translate) -> str:
    """The whole page; what can be broken is at most `width` columns wide, tables and code are as wide as they are."""
    width = max(width, NARROWEST)
    lines = list(wrapped(translate(heading(page)), width, ""))
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


def heading(page: Page) -> str:
    """Name, title and section."""
    return Joined(AsIs(page.name), ": ", page.title, " (", f"section {page.section}", ")")


def _code(code: CodeLines) -> Iterator[str]:
    """The place and the lines, each with its number."""
    yield f"  {code.file}:{code.first}  {code.name}"
    beside = len(str(code.last))
    for number, line in enumerate(code.lines, start=code.first):
        yield f"  {number:>{beside}}  {line}"
