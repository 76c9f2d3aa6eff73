"""openwork finish"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.terminal import report
from openwork.cli.train import report_result


def finish(folder: Annotated[Path, typer.Argument(help="The folder of a run that was stopped.")]) -> None:
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
