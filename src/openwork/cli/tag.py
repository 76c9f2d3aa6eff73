"""openwork tag"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.labelling import LabelOptions, run_labelling


def tag(
    *,
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    options: LabelOptions,
) -> None:
    """Tag each word of each line of standard input.

    Spaces separate words.

    echo 'flights from boston to denver' | openwork tag --bundle atis

    openwork tag --bundle atis --json < in.txt > out.jsonl
    """
    run_labelling("tag", bundle, options)
