"""openwork info"""

from typing import Annotated

import typer

from openwork.cli.terminal import run


def info(
    name: Annotated[str | None, typer.Argument(help="A bundle's folder or a preset; without one, the presets.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Say what a bundle or a preset is.

    openwork info en-de

    openwork info paper-base
    """

    def work() -> None:
        import json

        from openwork.systems.info import describe

        facts = describe(name)
        print(json.dumps(facts.values, ensure_ascii=False) if as_json else "\n".join(facts.lines))

    run(work)
