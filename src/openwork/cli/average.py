"""openwork average"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.limits import LENGTH
from openwork.cli.options import Overwrite
from openwork.cli.terminal import report


def average(
    paths: Annotated[list[Path], typer.Argument(help="A run's folder, checkpoints in it, or bundles.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the new bundle.")],
    last: Annotated[
        int | None, typer.Option(min=1, max=LENGTH, help="Use only this many of the newest checkpoints of a run.")
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
