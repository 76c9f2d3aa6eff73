"""openwork attention"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from openwork.base.limits import HEADS, LAYERS
from openwork.base.printing import write_json
from openwork.cli.options import load
from openwork.cli.terminal import print_text, report, translated

Kind = Literal["encoder", "decoder", "cross"]


@dataclass(frozen=True)
class Map:
    """The map to show."""

    kind: Annotated[Kind, Option(help="Within the source, within the translation, or from it to the source.")] = "cross"
    layer: Annotated[int | None, Option(max=LAYERS, help="This layer, counted from 0; else the mean of all.")] = None
    head: Annotated[int | None, Option(max=HEADS, help="This head, counted from 0; else the mean of all.")] = None


@dataclass(frozen=True)
class More:
    """What else to look at."""

    translation: Annotated[str | None, Option(help="A translation to look at, in place of the bundle's own.")] = None
    why: Annotated[
        bool, Option("--why", help="Which pieces the translation comes from, by seven methods, and how good each is.")
    ] = False
    without: Annotated[
        str | None, Option(metavar="KIND:LAYER:HEAD", help="Translate again without a head, such as cross:0:3.")
    ] = None


@dataclass(frozen=True)
class Files:
    """Files to write, in place of the text."""

    html: Annotated[Path | None, Option(help="One HTML file with every map, which opens without a network.")] = None
    svg: Annotated[Path | None, Option(help="The map as a picture.")] = None
    csv: Annotated[Path | None, Option(help="The map as a table.")] = None


def attention(
    bundle: Annotated[Path, Argument(metavar="BUNDLE", help="A translator.")],
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="A sentence in its source language.")],
    shown: Map,
    more: More,
    files: Files,
    *,
    as_json: Annotated[
        bool, Option("--json", help="JSON on standard output: all weights, facts, rollout and flow.")
    ] = False,
) -> None:
    """Show what a translator attends to, for each layer and head.

    openwork attention de-en "Ein Hund."

    openwork attention de-en "Ein Hund." --html attention.html

    openwork attention de-en "Ein Hund." --kind decoder --layer 0 --head 1

    openwork attention de-en "Ein Hund." --why --without cross:1:3

    openwork attention de-en "Ein Hund." --svg map.svg --csv map.csv
    """
    from openwork.base.messages import find_language
    from openwork.base.outputs import check_file, is_page

    for path, is_own in ((files.html, is_page), (files.svg, _is_figure), (files.csv, lambda _: False)):
        if path is not None:
            check_file(path, is_own, [bundle])
    from openwork.inference.attention_maps.attribution import MOST_EXPLAINED
    from openwork.inference.attention_maps.capture import MOST_PIECES, capture
    from openwork.inference.attention_maps.chosen import ChosenMap
    from openwork.inference.attention_maps.deletion import reasons
    from openwork.inference.attention_maps.facts import head_facts
    from openwork.inference.attention_maps.files import page, picture, table
    from openwork.inference.attention_maps.removal import read_head, translate_without

    head = None if more.without is None else read_head(more.without)
    loaded = load(bundle)
    found = capture(loaded, sentence, more.translation, MOST_EXPLAINED if more.why else MOST_PIECES)
    chosen = ChosenMap.of(found, shown.kind, shown.layer, shown.head)
    why = reasons(loaded, found) if more.why else None
    added: dict[str, Any] = {} if why is None else why.to_json()
    if head is not None:
        added["without"] = {"head": str(head), "translation": translate_without(loaded, sentence, head).text}
    _write(files.html, lambda: page(found, loaded.settings, find_language(os.environ), **added))
    _write(files.svg, lambda: picture(chosen, translated))
    _write(files.csv, lambda: table(chosen))
    if as_json:
        from openwork.inference.attention_maps.flow import through_layers

        through = through_layers(found)
        added["facts"] = [one.to_json() for one in head_facts(found.maps)]
        added["through_layers"] = None if through is None else through.to_json()
        write_json({**found.to_json(), **added})
    elif files == Files():
        from openwork.inference.attention_maps.text import attention_text, facts_text, reasons_text

        width = shutil.get_terminal_size().columns
        print_text(attention_text(found, chosen, width, translated))
        print_text(facts_text(head_facts(found.maps), chosen, width, translated))
        if why is not None:
            print_text(reasons_text(found, why, translated))
        if head is not None:
            print_text(f"\n{translated('without')} {head}: {added['without']['translation']}")


def _is_figure(path: Path) -> bool:
    """Whether the file is a picture that openwork drew."""
    with path.open("rb") as file:
        return b"openwork-figure" in file.read(2000)


def _write(path: Path | None, content: Callable[[], str]) -> None:
    from openwork.base.files import atomic_write_text

    if path is not None:
        atomic_write_text(path, content())
        report(f"written to {path}")
