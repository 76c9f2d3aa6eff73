"""openwork demo, finish and average"""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from openwork.base.limits import LENGTH
from openwork.cli.options import Overwrite
from openwork.cli.terminal import INTERRUPTED, progress_console, report
from openwork.cli.train import report_result


def demo(
    expressions: Annotated[list[str] | None, Argument(help="Dates of your own to translate.")] = None,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the model and the report.")] = Path("openwork-demo"),
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


def finish(folder: Annotated[Path, Argument(help="The folder of a run that was stopped.")]) -> None:
    """End a training where it is, and write its bundle.

    openwork finish en-de

    openwork finish runs/multi30k
    """
    from openwork.runs.finish import finish_run
    from openwork.runs.folder import RunFolder

    outcome = finish_run(folder, report)
    settings = RunFolder(folder).read_settings()
    report(f"the run has ended after update {outcome.progress.step:,}")
    if outcome.bundle is not None and settings is not None:
        report_result(outcome.bundle, settings, folder)


def average(
    paths: Annotated[list[Path], Argument(help="A run's folder, checkpoints in it, or bundles.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder of the new bundle.")],
    last: Annotated[
        int | None, Option(min=1, max=LENGTH, help="Use only this many of the newest checkpoints of a run.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the mean of several checkpoints of a run as a new bundle.

    openwork average en-de --last 5 --out en-de-mean

    openwork average en-de/checkpoints/step-00001000 en-de/checkpoints/step-00002000 --out mean
    """
    from openwork.runs.average import average_bundles

    average_bundles(paths, last, out, report, overwrite=overwrite)
    report(f"done: the translator is {out}")
