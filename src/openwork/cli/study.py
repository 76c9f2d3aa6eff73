"""openwork study"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.base.printing import write_json
from openwork.cli.options import AsJson
from openwork.cli.terminal import print_lines, print_result, report


def study(
    name: Annotated[str | None, typer.Argument(help="The study; without it, lists all studies.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A size of the study: KEY=VALUE.")] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Write one HTML page with the charts to this file.")] = None,
) -> None:
    """Measure claims about architectures: gradients, depth, cost.

    Vanishing gradients, depth, scale, order, positions, costs.

    openwork study

    openwork study gradients-through-time --html gradients.html

    openwork study layer-costs --set width=32 --json
    """
    import os

    from openwork.base.files import atomic_write_text
    from openwork.base.messages import find_language
    from openwork.base.outputs import check_file, is_page
    from openwork.study.studies.showing import list_lines, page, result_lines
    from openwork.study.studies.table import STUDIES, find_study, sizes_of

    if name is None:
        if set_ or html:
            raise UsageError("no study is named", hint="openwork study lists them", code="U027")
        print_result(
            lambda: [one.summary() for one in STUDIES.values()], lambda: list_lines(STUDIES.values()), as_json=as_json
        )
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
