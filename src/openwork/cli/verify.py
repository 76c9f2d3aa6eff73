"""openwork verify"""

from typing import Annotated

import typer

from openwork.base.errors import OpenworkError
from openwork.cli.options import AsJson, Bundle
from openwork.cli.terminal import print_result


def verify(
    bundle: Bundle,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Also compile the model and compare; takes up to some minutes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a trained model by computing everything in two ways.

    Exits with code 1 if a check fails.

    openwork verify en-de

    openwork verify en-de --json
    """
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.checks.exported import EXPORTED
    from openwork.checks.report import all_passed, table_lines, to_json
    from openwork.checks.verify import verify as verify_folder

    outcomes = verify_folder(folder, compiling=compiled, further=EXPORTED)
    print_result(lambda: to_json(str(bundle), outcomes), lambda: table_lines(outcomes), as_json=as_json)
    if not all_passed(outcomes):
        raise typer.Exit(OpenworkError.exit_code)
