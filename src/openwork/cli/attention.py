"""openwork attention"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from openwork.base.errors import UsageError
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
    question: Annotated[str, Option(help="Of the picture or sound, for a model that was trained with questions.")] = ""
    why: Annotated[
        bool, Option("--why", help="Which pieces the translation comes from, by seven methods, and how good each is.")
    ] = False
    without: Annotated[
        str | None, Option(metavar="KIND:LAYER:HEAD", help="Translate again without a head, such as cross:0:3.")
    ] = None
    relations: Annotated[
        Path | None,
        Option(help="Instead of a sentence: which heads connect the words of this list, against chance."),
    ] = None


@dataclass(frozen=True)
class Files:
    """Files to write, in place of the text."""

    html: Annotated[Path | None, Option(help="One HTML file with every map, which opens without a network.")] = None
    svg: Annotated[Path | None, Option(help="The map as a picture.")] = None
    csv: Annotated[Path | None, Option(help="The map as a table.")] = None


def attention(
    bundle: Annotated[Path, Argument(metavar="BUNDLE", help="A translator, or what writes of pictures or sounds.")],
    sentence: Annotated[
        str | None,
        Argument(metavar="SENTENCE", help="A sentence in its source language, or a picture's or sound's file."),
    ] = None,
    *,
    shown: Map,
    more: More,
    files: Files,
    as_json: Annotated[
        bool, Option("--json", help="JSON on standard output: all weights, facts, rollout and flow.")
    ] = False,
) -> None:
    """Show what a translator attends to, for each layer and head.

    Of a model that writes the text of sounds or pictures: the times or the patches that each piece attends to.

    openwork attention de-en "Ein Hund."

    openwork attention de-en "Ein Hund." --html attention.html

    openwork attention de-en "Ein Hund." --kind decoder --layer 0 --head 1

    openwork attention de-en "Ein Hund." --why --without cross:1:3

    openwork attention de-en "Ein Hund." --svg map.svg --csv map.csv

    openwork attention de-en --relations pronouns.tsv

    openwork attention whisper speech.flac --html speech.html
    """
    if more.relations is not None:
        if sentence is not None or files != Files() or (shown, more) != (Map(), More(relations=more.relations)):
            raise UsageError("--relations goes with --json alone", hint="leave the other options out", code="U159")
        _survey(bundle, more.relations, as_json=as_json)
        return
    if sentence is None:
        raise UsageError(
            "there is no sentence to look at", hint='write: openwork attention BUNDLE "Ein Hund."', code="U160"
        )
    from openwork.base.messages import find_language
    from openwork.base.outputs import check_file, is_page

    for path, is_own in ((files.html, is_page), (files.svg, _is_figure), (files.csv, lambda _: False)):
        if path is not None:
            check_file(path, is_own, [bundle])
    from openwork.inference.attention_maps.asking import AttentionQuestion, ask_attention
    from openwork.inference.attention_maps.chosen import ChosenMap
    from openwork.inference.attention_maps.files import page, picture, table
    from openwork.inference.attention_maps.removal import read_head

    head = None if more.without is None else read_head(more.without)
    loaded = load(bundle)
    has_flow = as_json or files.html is not None
    question = AttentionQuestion(more.translation, why=more.why, flow=has_flow, without=head)
    if more.question and loaded.tokenizers.encoder.numbers is None:
        raise UsageError(
            "--question is for models that read pictures or sounds", hint="leave --question out", code="U166"
        )
    found = ask_attention(loaded, (sentence, more.question) if more.question else sentence, question)
    languages = (loaded.settings.source_language or "", loaded.settings.target_language or "")
    chosen = ChosenMap.of(found.sentence, shown.kind, shown.layer, shown.head)
    _write(files.html, lambda: page(found, languages, find_language(os.environ)))
    _write(files.svg, lambda: picture(chosen, translated))
    _write(files.csv, lambda: table(chosen))
    if as_json:
        write_json(found.to_json())
    elif files == Files():
        from openwork.inference.attention_maps.text import findings_text

        print_text(findings_text(found, chosen, shutil.get_terminal_size().columns, translated))


def _survey(bundle: Path, path: Path, *, as_json: bool) -> None:
    """Prints which heads connect the words of a list."""
    from openwork.inference.attention_maps.relations import read_relations
    from openwork.inference.attention_maps.survey import survey
    from openwork.inference.attention_maps.text import survey_text

    relations = read_relations(path)
    found = survey(load(bundle), relations)
    if as_json:
        write_json([one.to_json() for one in found])
    else:
        print_text(survey_text(found, shutil.get_terminal_size().columns, translated))


def _is_figure(path: Path) -> bool:
    """Whether the file is a picture that openwork drew."""
    with path.open("rb") as file:
        return b"openwork-figure" in file.read(2000)


def _write(path: Path | None, content: Callable[[], str]) -> None:
    from openwork.base.files import atomic_write_text

    if path is not None:
        atomic_write_text(path, content())
        report(f"written to {path}")
