"""openwork verify"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import OpenworkError
from openwork.base.printing import write_json
from openwork.cli.terminal import print_lines, run


def verify(
    bundle: Annotated[Path, typer.Argument(help="A bundle's folder, or a run's.")],
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Also compile the model and compare; takes up to some minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Check that a trained model does what it should, each thing in two ways that must agree; fails if one does not.

    openwork verify en-de

    openwork verify en-de --json
    """

    def work() -> None:
        from openwork.systems.bundle_search import check_bundle

        check_bundle(bundle)
        from openwork.interop.verifying import EXPORTED
        from openwork.systems.verify.checks import verify as verify_folder
        from openwork.systems.verify.report import all_passed, table_lines, to_json

        outcomes = verify_folder(bundle, compiling=compiled, further=EXPORTED)
        if as_json:
            write_json(to_json(str(bundle), outcomes))
        else:
            print_lines(table_lines(outcomes))
        if not all_passed(outcomes):
            raise typer.Exit(OpenworkError.exit_code)

    run(work)
