"""openwork demo"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.terminal import INTERRUPTED, progress_console, report


def demo(
    expressions: Annotated[list[str] | None, typer.Argument(help="Dates of your own to translate.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the model and the report.")] = Path(
        "openwork-demo"
    ),
) -> None:
    """Train a Transformer on dates and watch it learn.

    Dates in dozens of languages; a report shows what it has learnt.

    openwork demo

    openwork demo '14. März 2031' '2031年3月14日'
    """
    from openwork.demo.demo import run_demo
    from openwork.training.observers.console import console_observer

    finished = run_demo(out, expressions or [], report, [console_observer(progress_console())])
    if not finished:
        report("saved; to continue, run the same command again")
        raise typer.Exit(INTERRUPTED)
