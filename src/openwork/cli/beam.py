"""openwork beam"""

import shutil
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.limits import HYPOTHESES, LENGTH
from openwork.base.printing import write_json
from openwork.cli.options import load
from openwork.cli.terminal import print_styled, translated

STYLES = {"best": "bold", "dropped": "dim", "": ""}


def beam(
    bundle: Annotated[Path, Argument(metavar="BUNDLE", help="A translator.")],
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="A sentence in its source language.")],
    size: Annotated[
        int | None, Option("--beam", min=1, max=HYPOTHESES, help="Hypotheses kept; else as many as the bundle says.")
    ] = None,
    step: Annotated[int | None, Option(min=1, max=LENGTH, help="Show the search only up to this step.")] = None,
    everything: Annotated[bool, Option("--all", help="Show all that was dropped, not the first few only.")] = False,
    as_json: Annotated[bool, Option("--json", help="JSON on standard output: the whole tree.")] = False,
) -> None:
    """Show the beam search of a translation as a tree: what was kept, what was dropped and why.

    openwork beam de-en "Ein Hund."

    openwork beam de-en "Ein Hund." --beam 3 --step 4 --all

    openwork beam de-en "Ein Hund." --json
    """
    loaded = load(bundle)
    from openwork.inference.searches.outline import Extent
    from openwork.inference.searches.recorded import record_search
    from openwork.inference.searches.text import search_text

    tree = record_search(loaded, sentence, {} if size is None else {"beam": size}).tree
    if as_json:
        write_json(tree.to_json())
        return
    lines = search_text(tree, shutil.get_terminal_size().columns, translated, Extent(step, everything))
    print_styled((line.text, STYLES[line.look]) for line in lines)
