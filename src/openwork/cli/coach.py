"""openwork coach"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import OpenworkError
from openwork.cli.options import AsJson, Assignments
from openwork.cli.terminal import print_result, report


def coach(
    *,
    run_file: Annotated[
        Path, typer.Argument(help="A run file (TOML), a recipe or a run's folder whose training does not learn.")
    ],
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Find out why a training does not learn, in about a minute.

    Checks data, tokenizer, masks and loss.

    openwork coach multi30k-en-de

    openwork coach run.toml --set model.preset=tiny --json
    """
    from openwork.runs.file.resolve import resolve

    settings = resolve(run_file, assignments or [], {}, report).settings

    from openwork.checks.report import all_passed
    from openwork.runs.coach import checks  # here: a wrong setting is reported before torch is loaded

    outcomes = checks.coach(settings, report)
    print_result(lambda: checks.coach_values(outcomes), lambda: checks.coach_lines(outcomes), as_json=as_json)
    if not all_passed(outcomes):
        raise typer.Exit(OpenworkError.exit_code)
