"""openwork export"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.options import Bundle, Overwrite, check_form
from openwork.cli.terminal import report


def export(
    bundle: Bundle,
    to: Annotated[str, typer.Option(help="Format: ct2 (CTranslate2) or hf (Hugging Face).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    overwrite: Overwrite = False,
) -> None:
    """Convert a bundle to another toolkit's model.

    openwork export en-de --to ct2 --out en-de-ct2

    openwork export en-de --to hf --out en-de-hf
    """
    check_form(to)
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.base.tasks import task_of
    from openwork.interop.forms import export_model

    settings = export_model(to, folder, out, overwrite=overwrite).settings
    decoding, writes = settings.decoding, task_of(settings.model) == "generate"
    if writes and decoding.length_rule == "paper" and decoding.length_penalty and decoding.beam > 1:
        report(
            "note: the bundle ranks by the paper's length penalty, which no other toolkit has; "
            'with decoding.length_rule = "power" it ranks as they do'
        )
    report(f"done: {out}")
