"""openwork verify"""

from typing import Annotated

import typer

from openwork.base.errors import OpenworkError
from openwork.base.printing import write_json
from openwork.cli.options import Bundle
from openwork.cli.terminal import print_lines


def verify(
    bundle: Bundle,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Also compile the model and compare; takes up to some minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Check a trained model in two ways that must agree.

    Fails if one check does.

    openwork verify en-de

    openwork verify en-de --json
    """
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.checks.exported import EXPORTED
    from openwork.checks.report import all_passed, table_lines, to_json
    from openwork.checks.verify import verify as verify_folder

    outcomes = verify_folder(folder, compiling=compiled, further=EXPORTED)
    if as_json:
        write_json(to_json(str(bundle), outcomes))
    else:
        print_lines(table_lines(outcomes))
    if not all_passed(outcomes):
        raise typer.Exit(OpenworkError.exit_code)
