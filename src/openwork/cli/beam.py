"""openwork beam"""

import os
import shutil
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.files import atomic_write_text
from openwork.base.limits import HYPOTHESES, LENGTH
from openwork.base.messages import find_language
from openwork.base.outputs import check_file, is_page
from openwork.base.printing import write_json
from openwork.cli.options import load
from openwork.cli.terminal import print_styled, report, translated

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
    html: Annotated[Path | None, Option(help="One HTML file with the tree, which opens without a network.")] = None,
) -> None:
    """Show the beam search of a translation as a tree: what was kept, what was dropped and why.

    openwork beam de-en "Ein Hund."

    openwork beam de-en "Ein Hund." --beam 3 --step 4 --all

    openwork beam de-en "Ein Hund." --html search.html
    """
    if html is not None:
        check_file(html, is_page, [bundle])
    loaded = load(bundle)
    from openwork.inference.searches.outline import Extent
    from openwork.inference.searches.recorded import record_search
    from openwork.inference.searches.text import search_text

    tree = record_search(loaded, sentence, {} if size is None else {"beam": size}).tree
    if html is not None:
        from openwork.inference.searches.html import search_page

        atomic_write_text(html, search_page(tree, find_language(os.environ)))
        report(f"written to {html}")
    if as_json:
        write_json(tree.to_json())
    if as_json or html is not None:
        return
    lines = search_text(tree, shutil.get_terminal_size().columns, translated, Extent(step, everything))
    print_styled((line.text, STYLES[line.look]) for line in lines)
