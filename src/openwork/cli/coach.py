"""openwork coach"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import OpenworkError
from openwork.base.printing import write_json
from openwork.cli.terminal import print_lines, run, say


def coach(
    *,
    run_file: Annotated[Path, typer.Argument(help="The run file (TOML) whose training does not learn.")],
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as model.width=256; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Say why a training does not learn: checks of its data, tokenizer, masks and loss, in about a minute.

    openwork coach recipes/multi30k-en-de.toml

    openwork coach run.toml --set model.preset=tiny --json
    """

    def work() -> None:
        from openwork.systems.automatic import resolve
        from openwork.systems.run_file import read_run

        settings = resolve(read_run(run_file, assignments or [], {}), say, choose_rest=False)

        from openwork.systems.coach.checks import coach as examine_run  # here: a wrong setting is told before torch
        from openwork.systems.coach.report import coach_lines, coach_values
        from openwork.systems.verify.report import all_passed

        outcomes = examine_run(settings, say)
        if as_json:
            write_json(coach_values(outcomes))
        else:
            print_lines(coach_lines(outcomes))
        if not all_passed(outcomes):
            raise typer.Exit(OpenworkError.exit_code)

    run(work)
