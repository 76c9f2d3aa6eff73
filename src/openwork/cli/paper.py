"""openwork paper"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from openwork.base.errors import UsageError
from openwork.base.printing import write_document, write_json
from openwork.cli.terminal import print_result, print_text, translated

if TYPE_CHECKING:
    from openwork.study.paper.contents import Listed


@dataclass(frozen=True)
class PaperQuery:
    """The object of the paper to show."""

    kind: Annotated[str | None, typer.Argument(help="eq, formula, figure, table or training; without it, all.")] = None
    number: Annotated[str | None, typer.Argument(help="Its number, or the name of a formula that has none.")] = None
    row: Annotated[str | None, typer.Option(help="Of table 3: one row, such as C2.")] = None


def paper(
    asked: PaperQuery,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, with all numbers.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="The whole list as a document, docs/paper.md.")] = False,
) -> None:
    """Show an equation, figure or table of the paper with our code.

    With its tests, and the numbers of a forward pass.

    openwork paper

    openwork paper eq 1

    openwork paper table 3 --row C2

    openwork paper training --json
    """
    if markdown:
        _print_document(asked, as_json)
        return
    objects = _objects(asked)
    if asked.row is not None and [one.name for one in objects] != ["table 3"]:
        raise UsageError("--row is for table 3", hint="write: openwork paper table 3 --row C2", code="U024")
    if len(objects) > 1:
        _print_list(objects, as_json)
    else:
        _print_page(objects[0].name, asked.row, as_json)


def _print_document(asked: PaperQuery, as_json: bool) -> None:
    from openwork.study.paper.contents import CONTENTS
    from openwork.study.paper.pages import document, page_of

    if asked != PaperQuery() or as_json:
        raise UsageError("--markdown is for the whole list", hint="write: openwork paper --markdown", code="U025")
    write_document(document([page_of(one.name) for one in CONTENTS], translated))


def _objects(asked: PaperQuery) -> "list[Listed]":
    from openwork.study.paper.contents import CONTENTS, find_listed

    return list(CONTENTS) if asked.kind is None else find_listed(asked.kind, asked.number)


def _print_list(objects: "list[Listed]", as_json: bool) -> None:
    from openwork.study.paper.contents import contents_lines, contents_values

    print_result(lambda: contents_values(objects), lambda: contents_lines(objects), as_json=as_json)


def _print_page(name: str, row: str | None, as_json: bool) -> None:
    import shutil

    from openwork.study.paper.pages import page_of, page_text, row_page

    page = page_of(name) if row is None else row_page(row)
    if as_json:
        write_json(page.to_json())
    else:
        print_text(page_text(page, shutil.get_terminal_size().columns, translated))
