"""openwork runs"""

import os
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.files import atomic_write_text
from openwork.base.messages import find_language
from openwork.base.outputs import check_file, is_page
from openwork.base.phrases import AsIs
from openwork.base.printing import write_json
from openwork.cli.serve import check_packages, open_in_browser
from openwork.cli.terminal import print_lines, report, translated
from openwork.serving.settings import ServerSettings


def runs(
    folders: Annotated[list[Path], Argument(metavar="FOLDER...", help="Runs, or folders of runs.", show_default=False)],
    html: Annotated[Path | None, Option(help="One HTML file with the runs, which opens without a network.")] = None,
    opens: Annotated[
        bool, Option("--open", help="Show them in a browser, and what is written of them from now on.")
    ] = False,
    port: Annotated[int, Option(min=0, max=65535, help="Port of --open; 0: any that is free.")] = 0,
    as_json: Annotated[bool, Option("--json", help="JSON on standard output: all that is shown.")] = False,
) -> None:
    """Compare trainings, also while they run: curves, figures, settings.

    openwork runs small large

    openwork runs experiment --html runs.html

    openwork runs small large --open
    """
    if opens and (html is not None or as_json):
        raise UsageError("--open goes with neither --html nor --json", hint="leave one of them out", code="U163")
    if html is not None:
        check_file(html, is_page, folders)
    from openwork.runs.compared.found import read_runs

    found = read_runs(folders)
    if opens:
        check_packages("runs --open")
        from openwork.serving.server import serve_runs

        serve_runs(folders, ServerSettings(port=port), report, open_in_browser)
        return
    from openwork.runs.compared.comparison import comparison_lines, runs_content, runs_page

    if html is not None:
        atomic_write_text(html, runs_page(found, find_language(os.environ)))
        report(f"written to {html}")
    if as_json:
        write_json(runs_content(found))
    if html is None and not as_json:
        print_lines(map(AsIs, comparison_lines(found, translated)))
