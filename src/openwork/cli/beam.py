"""openwork beam"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from openwork.base.limits import HYPOTHESES, LENGTH
from openwork.base.printing import escaped, write_json
from openwork.cli.options import load
from openwork.cli.terminal import print_text, translated

if TYPE_CHECKING:
    from openwork.inference.searches.text import TreeLine


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
    _print(list(search_text(tree, shutil.get_terminal_size().columns, translated, Extent(step, everything))))


def _print(lines: Sequence["TreeLine"]) -> None:
    """Bold and dim on a terminal, plain text elsewhere."""
    if not sys.stdout.isatty():
        print_text("\n".join(line.text for line in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console, styles = Console(), {"best": "bold", "dropped": "dim", "": ""}
    for line in lines:
        console.print(Text(escaped(line.text), style=styles[line.look]), soft_wrap=True)
