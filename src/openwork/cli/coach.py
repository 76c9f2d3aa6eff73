"""openwork coach"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import OpenworkError
from openwork.base.printing import write_json
from openwork.cli.terminal import print_lines, say


def coach(
    *,
    run_file: Annotated[
        Path, typer.Argument(help="A run file (TOML), a recipe or a run's folder whose training does not learn.")
    ],
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as model.width=256; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Find out why a training does not learn, in about a minute.

    Checks data, tokenizer, masks and loss.

    openwork coach multi30k-en-de

    openwork coach run.toml --set model.preset=tiny --json
    """
    from openwork.runs.file.resolve import resolve

    settings = resolve(run_file, assignments or [], {}, say).settings

    from openwork.checks.report import all_passed
    from openwork.runs.coach.checks import coach as examine_run  # here: a wrong setting is told before torch
    from openwork.runs.coach.report import coach_lines, coach_values

    outcomes = examine_run(settings, say)
    if as_json:
        write_json(coach_values(outcomes))
    else:
        print_lines(coach_lines(outcomes))
    if not all_passed(outcomes):
        raise typer.Exit(OpenworkError.exit_code)
