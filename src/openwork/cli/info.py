"""openwork info"""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.options import AsJson
from openwork.cli.terminal import print_result


def info(
    names: Annotated[
        list[str] | None, Argument(help="A bundle's folder or a preset; without one, the presets.")
    ] = None,
    bundle: Annotated[
        str | None, Option("--bundle", "-m", metavar="BUNDLE", help="A bundle's folder, by name.")
    ] = None,
    options: Annotated[bool, Option(help="List the options of a model.")] = False,
    table: Annotated[int | None, Option(max=LENGTH, help="3: the rows of the paper's table 3, counted.")] = None,
    compare: Annotated[bool, Option(help="Size several presets or kinds of model to one budget.")] = False,
    budget: Annotated[
        str | None,
        Option(help="Weights (7M), operations for a target token (20Mflop), or seconds of an update (0.5s)."),
    ] = None,
    vocabulary: Annotated[int | None, Option(min=5, max=LENGTH, help="Pieces, for --compare; 8000.")] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a bundle, a preset or the options of a model.

    Shapes, weights, operations and memory.

    openwork info en-de

    openwork info paper-base

    openwork info --table 3

    openwork info --options

    openwork info --compare recurrent transformer --budget 7M
    """
    from openwork.cost.info import describe, describe_options, describe_sizes, describe_table
    from openwork.runs.usable import usable_bundle

    names = [*(names or ()), *([bundle] if bundle is not None else ())]
    if sum((bool(names), options, table is not None)) > 1 or (len(names) > 1 and not compare):
        raise UsageError(
            "asked for several things at once", hint="give a name, or --options, or --table 3", code="U014"
        )
    if compare != (budget is not None) or (compare and not names) or (vocabulary is not None and not compare):
        raise UsageError(
            "--compare, names of models and --budget go together",
            hint="write: openwork info --compare recurrent transformer --budget 7M",
            code="U075",
        )
    if compare and budget is not None:
        facts = describe_sizes(names, budget, vocabulary)
    elif options:
        facts = describe_options()
    elif table is not None:
        facts = describe_table(table)
    else:
        name = names[0] if names else None
        facts = describe(str(usable_bundle(Path(name))) if name and Path(name).is_dir() else name)
    print_result(lambda: facts.values, lambda: facts.lines, as_json=as_json)
