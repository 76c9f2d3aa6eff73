"""The page of an object of the paper: as JSON, for a terminal, and for docs/paper.md, in the reader's language."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from openwork.base.pages import render, translator
from openwork.base.phrases import AsIs, Joined
from openwork.inspection.code_lines import CodeLines
from openwork.inspection.trace import Trace
from openwork.inspection.trace_table import shape_text
from openwork.inspection.trace_text import NARROWEST, trace_text, wrapped
from openwork.study.paper import figures, formulas, methods, tables, training
from openwork.study.paper.exhibit import EXHIBITS, Page
from openwork.study.studies.showing import table_lines

FILES = (formulas, methods, figures, tables, training)  # imported, they fill EXHIBITS

Translate = Callable[[str], str]


def page_of(name: str) -> Page:
    return EXHIBITS[name]()


def page_text(page: Page, width: int, translate: Translate) -> str:
    """The whole page; what can be broken is at most `width` columns wide, tables and code are as wide as they are."""
    width = max(width, NARROWEST)
    heading = Joined(AsIs(page.name), ": ", page.title, " (", f"section {page.section}", ")")
    lines = list(wrapped(translate(heading), width, ""))
    if page.formula:
        lines += ["", *wrapped(f"  {page.formula}", width, "    ")]
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
    yield f"  {code.file}:{code.first}  {code.name}"
    width = len(str(code.last))
    for number, line in enumerate(code.lines, start=code.first):
        yield f"  {number:>{width}}  {line}"


def document(pages: Sequence[Page], language: str) -> str:
    """docs/paper.md. It names code without line numbers, so that it changes only where the paper's code does.

    Of what is calculated it has the shapes; the numbers are left to the command.
    """
    translate = translator(language)

    def files(names: Iterable[str], above: str, folder: str) -> str:
        return ", ".join(f"[`{name.removeprefix(folder)}`]({above}{name})" for name in dict.fromkeys(names))

    overview = [
        (
            f"[{page.name}](#{page.name.replace(' ', '-')})",
            page.section,
            translate(page.title),
            files((code.file for code in page.code), "../src/", "openwork/"),
            files((test.partition("::")[0] for test in page.tests), "../", "tests/"),
        )
        for page in pages
    ]

    def steps(trace: Trace) -> list[tuple[str, ...]]:
        return [
            (f"`{step.name}`", translate(step.title), f"`{step.equation}`", shape_text(step, translate))
            for step in trace.steps
        ]

    return render("paper.md", language, pages=pages, overview=overview, steps=steps).rstrip() + "\n"
