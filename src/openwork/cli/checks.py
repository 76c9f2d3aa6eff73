"""openwork doctor, verify and coach"""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from openwork.base.errors import OpenworkError
from openwork.cli.options import AsJson, Assignments, Bundle
from openwork.cli.terminal import print_result, report


def doctor(
    *,
    quick: Annotated[bool, Option(help="Skip measurements.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check this machine: hardware, libraries, what is accelerated.

    openwork doctor

    openwork doctor --quick --json
    """
    from openwork.checks.doctor import doctor_lines, doctor_values, examine

    found = examine(measure=not quick)
    print_result(lambda: doctor_values(found), lambda: doctor_lines(found), as_json=as_json)


def verify(
    bundle: Bundle,
    compiled: Annotated[bool, Option(help="Also compile the model and compare; takes up to some minutes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a trained model by computing everything in two ways.

    Exits with code 1 if a check fails.

    openwork verify en-de

    openwork verify en-de --json
    """
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.checks.check import all_passed, table_lines, to_json
    from openwork.checks.keeping import EXPORTED
    from openwork.checks.verify import verify as verify_folder

    outcomes = verify_folder(folder, compiling=compiled, further=EXPORTED)
    print_result(lambda: to_json(str(bundle), outcomes), lambda: table_lines(outcomes), as_json=as_json)
    if not all_passed(outcomes):
        raise typer.Exit(OpenworkError.exit_code)


def coach(
    *,
    run_file: Annotated[
        Path, Argument(help="A run file (TOML), a recipe or a run's folder whose training does not learn.")
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

    from openwork.checks.check import all_passed
    from openwork.runs.coach import checks  # here: a wrong setting is reported before torch is loaded

    outcomes = checks.coach(settings, report)
    print_result(lambda: checks.coach_values(outcomes), lambda: checks.coach_lines(outcomes), as_json=as_json)
    if not all_passed(outcomes):
        raise typer.Exit(OpenworkError.exit_code)
