"""openwork paper and openwork study"""

import os
import shutil
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.printing import write_document, write_json
from openwork.cli.options import AsJson
from openwork.cli.terminal import print_lines, print_result, print_text, report, translated


def paper(
    kind: Annotated[str | None, Argument(help="eq, formula, figure, table or training; without it, all.")] = None,
    number: Annotated[str | None, Argument(help="Its number, or the name of a formula that has none.")] = None,
    as_json: Annotated[bool, Option("--json", help="JSON on standard output, with all numbers.")] = False,
    markdown: Annotated[bool, Option(help="The whole list as a document, docs/paper.md.")] = False,
) -> None:
    """Show an equation, figure or table of the paper with our code.

    With its tests, and the numbers of a forward pass.

    openwork paper

    openwork paper eq 1

    openwork paper table 3

    openwork paper training --json
    """
    from openwork.base.messages import find_language
    from openwork.study.paper.contents import CONTENTS, contents_lines, contents_values, find_listed

    if markdown:
        if kind or as_json:
            raise UsageError("--markdown is for the whole list", hint="write: openwork paper --markdown", code="U025")
        from openwork.study.paper.pages import document, page_of

        write_document(document([page_of(one.name) for one in CONTENTS], find_language(os.environ)))
        return
    objects = list(CONTENTS) if kind is None else find_listed(kind, number)
    if len(objects) > 1:
        print_result(lambda: contents_values(objects), lambda: contents_lines(objects), as_json=as_json)
        return
    from openwork.study.paper.pages import page_of, page_text

    page = page_of(objects[0].name)
    if as_json:
        write_json(page.to_json())
    else:
        print_text(page_text(page, shutil.get_terminal_size().columns, translated))


def study(
    name: Annotated[str | None, Argument(help="The study; without it, lists all studies.")] = None,
    set_: Annotated[list[str] | None, Option("--set", help="A size of the study: KEY=VALUE.")] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, Option(help="Write one HTML page with the charts to this file.")] = None,
) -> None:
    """Measure claims about architectures: gradients, depth, cost.

    Vanishing gradients, depth, scale, order, positions, costs.

    openwork study

    openwork study gradients-through-time --html gradients.html

    openwork study layer-costs --set width=32 --json
    """
    from openwork.base.files import atomic_write_text
    from openwork.base.messages import find_language
    from openwork.base.outputs import check_file, is_page
    from openwork.study.studies.showing import list_lines, page, result_lines
    from openwork.study.studies.table import STUDIES, find_study, sizes_of

    if name is None:
        if set_ or html:
            raise UsageError("no study is named", hint="openwork study lists them", code="U027")
        studies = STUDIES.values()
        print_result(lambda: [one.summary() for one in studies], lambda: list_lines(studies), as_json=as_json)
        return
    chosen = find_study(name)
    sizes = sizes_of(chosen, set_ or [])
    if html is not None:
        check_file(html, is_page)
    result = chosen.run(sizes)
    if html is not None:
        atomic_write_text(html, page(chosen, result, find_language(os.environ)))
        report(f"written to {html}")
    if as_json:
        write_json(chosen.to_json(sizes, result))
    elif html is None:
        print_lines(result_lines(chosen, result))
