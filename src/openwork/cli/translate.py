"""openwork translate"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.terminal import run, say


def translate(
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses per sentence; 1 is greedy search.")] = None,
    best: Annotated[int, typer.Option(min=1, help="Translations per line, with scores, separated by tabs.")] = 1,
    length_penalty: Annotated[float | None, typer.Option(min=0.0, help="Above 0 favours longer ones.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with scores.")] = False,
) -> None:
    """Translate standard input to standard output, line for line.

    echo 'Ein Hund.' | openwork translate --bundle de-en

    openwork translate --bundle de-en < in.txt > out.txt
    """

    def work() -> None:
        from openwork.base.config import build

        if beam is not None and best > beam:
            raise UsageError(f"--best {best} needs a beam of at least {best}", hint=f"--beam {best}, or leave it out")

        from openwork.systems.bundle import load_bundle
        from openwork.systems.translate import Output, translate_stream

        loaded = load_bundle(bundle)
        changes: dict[str, float] = {"best": best, "beam": beam or max(best, loaded.settings.decoding.beam)}
        if length_penalty is not None:
            changes["length_penalty"] = length_penalty
        values = {**loaded.settings.decoding.model_dump(), **changes}
        decoding = build(type(loaded.settings.decoding), values)
        translate_stream(loaded.translator(decoding), Output(best, as_json), say)

    run(work)
