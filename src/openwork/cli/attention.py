"""openwork attention"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from openwork.base.limits import HEADS, LAYERS
from openwork.cli.options import AsJson, Bundle, load
from openwork.cli.terminal import print_text, report, translated

HEAD = re.compile(r"(encoder|decoder|cross):\d{1,4}:\d{1,4}", re.ASCII)


def _head(text: str) -> str:
    if HEAD.fullmatch(text) is None:
        raise typer.BadParameter(f"{text} is not KIND:LAYER:HEAD, such as cross:0:3")
    return text


@dataclass(frozen=True)
class ShownMap:
    """The map to show."""

    kind: Annotated[
        Literal["encoder", "decoder", "cross"],
        Option(help="Self-attention of encoder or decoder, or attention of the decoder to the source."),
    ] = "cross"
    layer: Annotated[int | None, Option(max=LAYERS, help="Only this layer, counted from 0; else their mean.")] = None
    head: Annotated[int | None, Option(max=HEADS, help="Only this head, counted from 0; else their mean.")] = None


@dataclass(frozen=True)
class AttentionFiles:
    """Files to write."""

    csv: Annotated[Path | None, Option(help="Write the weights of each head as CSV.")] = None
    svg: Annotated[Path | None, Option(help="Write the map as a picture.")] = None


def attention(
    *,
    bundle: Bundle,
    sentence: Annotated[str, Argument(help="A sentence in the source language.", show_default=False)],
    shown: ShownMap,
    translation: Annotated[
        str | None, Option(metavar="TEXT", help="A given translation; else the bundle's own.")
    ] = None,
    without: Annotated[
        str | None,
        Option(metavar="KIND:LAYER:HEAD", parser=_head, help="Translate again without a head, such as cross:0:3."),
    ] = None,
    why: Annotated[bool, Option(help="What explains the translation, by several methods, and which to trust.")] = False,
    as_json: AsJson = False,
    files: AttentionFiles,
) -> None:
    """Show what a translation attends to: weights, alignment, facts of each head.

    openwork attention de-en "Ein Hund."

    openwork attention de-en "Ein Hund." --kind encoder --layer 0 --head 1

    openwork attention de-en "Ein Hund." --translation "A dog." --why

    openwork attention de-en "Ein Hund." --without cross:0:3

    openwork attention de-en "Ein Hund." --svg attention.svg --csv attention.csv
    """
    _check_files(bundle, files)
    loaded = load(bundle)
    from openwork.base.printing import write_json
    from openwork.inference.attention_maps.look import Question, look
    from openwork.inference.attention_maps.removal import HeadName
    from openwork.inference.attention_maps.text import look_lines
    from openwork.inference.attention_maps.views import MapChoice

    choice = MapChoice(shown.kind, shown.layer, shown.head)
    head = None if without is None else HeadName.read(without)
    inside = look(loaded, Question(sentence, translation, head, why))
    choice.of(inside.attention)  # what there is not is refused, whatever is printed
    if as_json:
        write_json(inside.to_json())
    else:
        print_text("\n".join(look_lines(inside, choice, shutil.get_terminal_size().columns, translated)))
    _write(inside, choice, files)


def _check_files(bundle: Path, files: AttentionFiles) -> None:
    """UsageError for files that others wrote, before anything is calculated."""
    if files.csv is None and files.svg is None:
        return
    from openwork.base.outputs import check_file
    from openwork.inference.attention_maps.views import is_csv, is_svg

    for path, is_own in ((files.csv, is_csv), (files.svg, is_svg)):
        if path is not None:
            check_file(path, is_own, [bundle])


def _write(inside: Any, choice: Any, files: AttentionFiles) -> None:
    from openwork.base.files import atomic_write_text
    from openwork.inference.attention_maps.views import chosen_map, csv_text

    if files.csv is not None:
        atomic_write_text(files.csv, csv_text(inside.attention, choice))
        report(f"written to {files.csv}")
    if files.svg is not None:
        atomic_write_text(files.svg, chosen_map(inside.attention, choice, translated).drawn(translated))
        report(f"written to {files.svg}")
