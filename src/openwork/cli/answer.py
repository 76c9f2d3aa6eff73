"""openwork answer"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.labelling import LabelOptions, run_labelling


def answer(
    *,
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    options: LabelOptions,
) -> None:
    """Find the answer to a question in a text, line for line.

    A line of standard input is a question, a tab, and the text.

    printf 'who rang?\\tthe postman rang twice\\n' | openwork answer --bundle questions

    openwork answer --bundle questions --best 3 < in.tsv > out.txt

    openwork answer --bundle questions --json < in.tsv > out.jsonl
    """
    run_labelling("answer", bundle, options)
