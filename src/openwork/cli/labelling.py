"""Options of the commands that predict labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from openwork.base.limits import LENGTH
from openwork.cli.terminal import report


@dataclass(frozen=True)
class LabelOptions:
    """The form of an output line."""

    best: Annotated[
        int, typer.Option(min=1, max=LENGTH, help="Number of most probable labels, with their probabilities.")
    ] = 1
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with probabilities.")] = False


def run_labelling(task: Literal["classify", "tag", "fill", "answer"], bundle: Path, options: LabelOptions) -> None:
    """Labels standard input line for line."""

    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.bundles.bundle import load_bundle
    from openwork.inference.filters.labels import label_filter
    from openwork.inference.filters.lines import answer_stream

    lines = label_filter(load_bundle(folder), bundle, task, options.best, as_json=options.as_json)
    answer_stream(lines, report)
