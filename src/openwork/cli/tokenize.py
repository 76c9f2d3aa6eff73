"""openwork tokenize"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.terminal import run, say


def tokenize(
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    side: Annotated[str, typer.Option(help="source or target: whose vocabulary to use.")] = "source",
    ids: Annotated[bool, typer.Option("--ids", help="Numbers instead of pieces.")] = False,
    decode: Annotated[bool, typer.Option("--decode", help="From numbers back to text.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with character offsets.")] = False,
) -> None:
    """Cut standard input into pieces, line for line; spaces inside pieces are shown as ▁.

    echo 'Ein Hund.' | openwork tokenize --bundle de-en

    echo '265 270' | openwork tokenize --bundle de-en --decode
    """

    def work() -> None:
        from openwork.systems.tokenize import Form, tokenize_stream

        form = Form.JSON if as_json else Form.TEXT if decode else Form.IDS if ids else Form.PIECES
        tokenize_stream(bundle, side, form, say)

    run(work)
