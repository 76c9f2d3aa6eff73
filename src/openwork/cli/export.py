"""openwork export"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.options import Overwrite, check_form
from openwork.cli.terminal import run, say


def export(
    bundle: Annotated[Path, typer.Argument(help="A bundle's folder, or a run's.")],
    to: Annotated[str, typer.Option(help="Whose form: ct2 (CTranslate2) or hf (Hugging Face).")],
    out: Annotated[Path, typer.Option(help="The folder that is written.")],
    overwrite: Overwrite = False,
) -> None:
    """Write a bundle as a model of another toolkit, with its tokenizers.

    openwork export en-de --to ct2 --out en-de-ct2

    openwork export en-de --to hf --out en-de-hf
    """

    def work() -> None:
        check_form(to)
        from openwork.systems.bundle_search import check_bundle

        check_bundle(bundle)
        from openwork.interop.forms import export_model
        from openwork.systems.tasks import task_of

        settings = export_model(to, bundle, out, overwrite=overwrite).settings
        decoding, writes = settings.decoding, task_of(settings.model) == "write"
        if writes and decoding.length_rule == "paper" and decoding.length_penalty and decoding.beam > 1:
            say(
                "note: the bundle ranks by the paper's length penalty, which no other toolkit has; "
                'with decoding.length_rule = "power" it ranks as they do'
            )
        say(f"done: {out}")

    run(work)
