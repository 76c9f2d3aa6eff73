"""openwork doctor"""

from typing import Annotated

import typer

from openwork.cli.options import AsJson
from openwork.cli.terminal import print_result


def doctor(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Skip measurements.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check this machine: hardware, libraries, what is accelerated.

    openwork doctor

    openwork doctor --quick --json
    """
    from openwork.checks.doctor import doctor_lines, doctor_values, examine

    found = examine(measure=not quick)
    print_result(lambda: doctor_values(found), lambda: doctor_lines(found), as_json=as_json)
