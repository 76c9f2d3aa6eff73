"""docs/paper.md: every object of the paper with its code, its tests, its shapes and its tables, as one document."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from openwork.inspection.trace import Trace
from openwork.inspection.trace_table import shape_text
from openwork.study.paper.exhibits import Page
from openwork.study.studies.study import Figures

Translate = Callable[[str], str]

_SOURCES, _ROOT = "../src/", "../"  # from docs/


def document(pages: Sequence[Page], translate: Translate) -> str:
    """The whole document. It names code without line numbers, so that it changes only where the paper's code does."""
    lines = [f"# {translate('The paper, object by object')}", "", *map(translate, _introduction_lines()), ""]
    lines += _map(pages, translate)
    for page in pages:
        lines += ["", *_section(page, translate)]
    return "\n".join(lines) + "\n"


def _introduction_lines() -> list[str]:
    return [
        "What Vaswani et al. number in Attention Is All You Need (2017), and the formulas that they do not number: "
        "which code each of them is here, and which tests hold it to that.",
        "",
        "This document is written by `openwork paper --markdown` and held equal to it by a test; "
        "`openwork paper eq 1` shows the lines of code and the numbers of a forward pass too.",
    ]


def _map(pages: Sequence[Page], translate: Translate) -> Iterator[str]:
    """The overview: an object a row, with the files of its code and tests."""
    head = [translate("object of the paper"), translate("section"), translate("what"), translate("code")]
    rows = (
        (
            f"[{page.name}](#{_anchor(page)})",
            page.section,
            translate(page.title),
            _files((code.file for code in page.code), _SOURCES, "openwork/"),
            _files((test.partition("::")[0] for test in page.tests), _ROOT, "tests/"),
        )
        for page in pages
    )
    yield from _markdown_table([*head, translate("tests")], rows)


def _files(files: Iterable[str], above: str, folder: str) -> str:
    """Links to the files, each once, named without their folder."""
    return ", ".join(f"[`{file.removeprefix(folder)}`]({above}{file})" for file in dict.fromkeys(files))


def _anchor(page: Page) -> str:
    return page.name.replace(" ", "-")


def _section(page: Page, translate: Translate) -> Iterator[str]:
    yield f"## {page.name}"
    yield ""
    yield f"**{translate(page.title)}** ({translate(f'section {page.section}')}), `openwork paper {page.name}`"
    if page.formula:
        yield from ("", f"    {page.formula}")
    if page.drawing:
        yield from ("", *(f"    {line}" for line in page.drawing))
    for paragraph in page.text:
        yield from ("", translate(paragraph))
    yield ""
    yield f"- {translate('code')}: {_code_links(page)}"
    yield f"- {translate('tests')}: {_test_links(page)}"
    if page.trace is not None:
        yield from ("", *_steps(page.trace, translate))
    for table in page.tables:
        yield from ("", f"*{translate(table.title)}*", "", *_figures(table, translate))


def _steps(trace: Trace, translate: Translate) -> Iterator[str]:
    """What is calculated, with shapes; the numbers are left to the command."""
    yield f"*{translate(trace.title)}*"
    yield ""
    head = [translate("step of the pass"), translate("what"), translate("equation"), translate("shape")]
    rows = (
        (f"`{step.name}`", translate(step.title), f"`{step.equation}`", shape_text(step, translate))
        for step in trace.steps
    )
    yield from _markdown_table(head, rows)


def _figures(table: Figures, translate: Translate) -> Iterator[str]:
    head = [translate(column) for column in table.columns]
    yield from _markdown_table(head, ([translate(row.name), *row.cells] for row in table.rows))


def _markdown_table(head: list[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code_links(page: Page) -> str:
    return ", ".join(f"[`{code.name}`]({_SOURCES}{code.file})" for code in page.code)


def _test_links(page: Page) -> str:
    named = (test.partition("::") for test in page.tests)
    return ", ".join(f"[`{name}`]({_ROOT}{file})" for file, _, name in named)
