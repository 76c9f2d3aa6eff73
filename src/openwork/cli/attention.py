"""openwork attention"""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, BadParameter, Option

from openwork.base.limits import HEADS, LAYERS
from openwork.base.printing import write_json
from openwork.cli.options import load
from openwork.cli.terminal import print_text, report, translated

Kind = Literal["encoder", "decoder", "cross"]
HEAD = re.compile(r"(encoder|decoder|cross):\d{1,4}:\d{1,4}", re.ASCII)


def _head(text: str) -> str:
    if HEAD.fullmatch(text) is None:
        raise BadParameter(f"{text} is not KIND:LAYER:HEAD, such as cross:0:3")
    return text


@dataclass(frozen=True)
class Map:
    """The map to show."""

    kind: Annotated[Kind, Option(help="Within the source, within the translation, or from it to the source.")] = "cross"
    layer: Annotated[int | None, Option(max=LAYERS, help="This layer, counted from 0; else the mean of all.")] = None
    head: Annotated[int | None, Option(max=HEADS, help="This head, counted from 0; else the mean of all.")] = None


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
    files: Files,
    *,
    translation: Annotated[str | None, Option(help="A translation to look at, in place of the bundle's own.")] = None,
    without: Annotated[
        str | None,
        Option(metavar="KIND:LAYER:HEAD", parser=_head, help="Translate again without a head, such as cross:0:3."),
    ] = None,
    why: Annotated[bool, Option(help="What explains the translation, by several methods, and which to trust.")] = False,
    as_json: Annotated[bool, Option("--json", help="JSON on standard output, with the weights of all heads.")] = False,
) -> None:
    """Show what a translator attends to, for each layer and head.

    openwork attention de-en "Ein Hund."

    openwork attention de-en "Ein Hund." --html attention.html

    openwork attention de-en "Ein Hund." --kind decoder --layer 0 --head 1

    openwork attention de-en "Ein Hund." --translation "A dog." --why

    openwork attention de-en "Ein Hund." --without cross:0:3

    openwork attention de-en "Ein Hund." --svg map.svg --csv map.csv
    """
    from openwork.base.messages import find_language
    from openwork.base.outputs import check_file, is_page

    for path, is_own in ((files.html, is_page), (files.svg, _is_figure), (files.csv, lambda _: False)):
        if path is not None:
            check_file(path, is_own, [bundle])
    loaded = load(bundle)
    from openwork.inference.attention_maps.chosen import ChosenMap
    from openwork.inference.attention_maps.files import page, picture, table
    from openwork.inference.attention_maps.look import Question, look
    from openwork.inference.attention_maps.removal import HeadName

    head = None if without is None else HeadName.read(without)
    inside = look(loaded, Question(sentence, translation, head, why))
    found = inside.attention
    chosen = ChosenMap.of(found, shown.kind, shown.layer, shown.head)
    _write(files.html, lambda: page(found, find_language(os.environ)))
    _write(files.svg, lambda: picture(chosen, translated))
    _write(files.csv, lambda: table(chosen))
    if as_json:
        write_json(inside.to_json())
    elif files == Files():
        from openwork.inference.attention_maps.reason_text import look_text

        print_text(look_text(inside, chosen, shutil.get_terminal_size().columns, translated))


def _is_figure(path: Path) -> bool:
    """Whether the file is a picture that openwork drew."""
    with path.open("rb") as file:
        return b"openwork-figure" in file.read(2000)


def _write(path: Path | None, content: Callable[[], str]) -> None:
    from openwork.base.files import atomic_write_text

    if path is not None:
        atomic_write_text(path, content())
        report(f"written to {path}")
