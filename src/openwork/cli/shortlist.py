"""openwork shortlist"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.limits import LENGTH
from openwork.cli.options import Bundle
from openwork.cli.terminal import report


def shortlist(
    bundle: Bundle,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write, for openwork translate --shortlist.")],
    source: Annotated[Path | None, typer.Option(help="Source sentences, one a line (plain or gzip).")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, one a line.")] = None,
    corpus: Annotated[str | None, typer.Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None,
    each: Annotated[int, typer.Option(min=1, max=LENGTH, help="Target pieces for each source piece.")] = 16,
    common: Annotated[
        int, typer.Option(min=0, max=LENGTH, help="Number of most frequent target pieces, which are always allowed.")
    ] = 100,
) -> None:
    """Learn a shortlist of pieces, which makes translation faster.

    openwork shortlist en-de --source train.en --target train.de --out en-de.shortlist

    openwork shortlist multi30k --corpus multi30k-en-de --out multi30k.shortlist

    openwork translate en-de --shortlist en-de.shortlist < in.txt > out.txt
    """
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.inference.shortlists import Sizes, write_shortlist

    write_shortlist(out, folder, source, target, corpus, Sizes(each, common), report)
    report(f"done: openwork translate --shortlist {out}")
