"""openwork fill"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.labelling import LabelOptions, run_labelling


def fill(
    *,
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    options: LabelOptions,
) -> None:
    """Fill the gaps, written [MASK], of each line of standard input.

    echo 'a [MASK] in the park' | openwork fill --bundle bert

    openwork fill --bundle bert --best 5 < in.txt > out.txt

    openwork fill --bundle bert --json < in.txt > out.jsonl
    """
    run_labelling("fill", bundle, options)
