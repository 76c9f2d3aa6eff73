"""openwork import"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.cli.options import Overwrite, check_form
from openwork.cli.terminal import report


def import_model(
    form: Annotated[str, typer.Argument(help="Format of the model: ct2 (CTranslate2) or hf (Hugging Face).")],
    folder: Annotated[Path, typer.Argument(help="The folder of the model.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the new bundle.")],
    source_tokenizer: Annotated[
        Path | None, typer.Option(help="For ct2: the tokenizer's file, if not in the folder.")
    ] = None,
    target_tokenizer: Annotated[Path | None, typer.Option(help="For ct2: the target's tokenizer.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert another toolkit's model to a bundle.

    Runs none of its code and unpickles nothing.

    openwork import ct2 model-folder --source-tokenizer source.spm --target-tokenizer target.spm --out en-de

    openwork import hf opus-mt-en-de --out en-de
    """
    check_form(form)
    from openwork.interop.forms import import_model as import_as_bundle
    from openwork.models.interfaces import count_weights

    bundle = import_as_bundle(form, folder, out, source_tokenizer, target_tokenizer, overwrite=overwrite)
    report(f"{count_weights(bundle.model):,} weights read")
    report(f"done: the translator is {out}")
