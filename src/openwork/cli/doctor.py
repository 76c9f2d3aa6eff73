"""openwork doctor"""

from typing import Annotated

import typer

from openwork.base.printing import write_json
from openwork.cli.terminal import print_lines


def doctor(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out what has to be measured.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Check this machine: hardware, libraries, what is accelerated.

    openwork doctor

    openwork doctor --quick --json
    """
    from openwork.checks.doctor import doctor_lines, doctor_values, examine

    found = examine(measure=not quick)
    if as_json:
        write_json(doctor_values(found))
    else:
        print_lines(doctor_lines(found))
