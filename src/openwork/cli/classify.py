"""openwork classify"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.labelling import LabelOptions, run_labelling


def classify(
    *,
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    options: LabelOptions,
) -> None:
    """Classify each line of standard input.

    A tab separates the two texts of a pair.

    echo 'a delight from start to end' | openwork classify --bundle sst2

    openwork classify --bundle sst2 --best 2 < in.txt > out.txt

    openwork classify --bundle sst2 --json < in.txt > out.jsonl
    """
    run_labelling("classify", bundle, options)
