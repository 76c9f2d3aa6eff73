"""openwork info"""

from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.terminal import print_lines, run


def info(
    name: Annotated[str | None, typer.Argument(help="A bundle's folder or a preset; without one, the presets.")] = None,
    options: Annotated[bool, typer.Option("--options", help="What can be chosen about a model.")] = False,
    table: Annotated[int | None, typer.Option(help="3: the rows of the paper's table 3, counted.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Say what a bundle or a preset is: shapes, weights, operations, memory; or what can be chosen about a model.

    openwork info en-de

    openwork info paper-base

    openwork info --table 3

    openwork info --options
    """

    def work() -> None:
        import json

        from openwork.systems.info import describe, describe_options, describe_table

        if sum((name is not None, options, table is not None)) > 1:
            raise UsageError("asked for several things at once", hint="give a name, or --options, or --table 3")
        if options:
            facts = describe_options()
        elif table is not None:
            facts = describe_table(table)
        else:
            facts = describe(name)
        if as_json:
            print(json.dumps(facts.values, ensure_ascii=False))
        else:
            print_lines(facts.lines)

    run(work)
