"""openwork info and openwork tokenize"""

import os
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.options import AsJson, OptionalBundle
from openwork.cli.terminal import print_result, report, translated


def info(
    names: Annotated[
        list[str] | None, Argument(help="A bundle's folder or a preset; without one, the presets.")
    ] = None,
    bundle: Annotated[
        str | None, Option("--bundle", "-m", metavar="BUNDLE", help="A bundle's folder, by name.")
    ] = None,
    compare: Annotated[bool, Option(help="Size several presets or kinds of model to one budget.")] = False,
    budget: Annotated[
        str | None,
        Option(help="Weights (7M), operations for a target token (20Mflop), or seconds of an update (0.5s)."),
    ] = None,
    vocabulary: Annotated[int | None, Option(min=5, max=LENGTH, help="Pieces, for --compare; 8000.")] = None,
    html: Annotated[
        Path | None, Option(help="Write one HTML file with a map of it: its boxes, weights, operations and code.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a bundle or a preset.

    Shapes, weights, operations and memory.

    openwork info en-de

    openwork info paper-base

    openwork info paper-base --html map.html

    openwork info --compare recurrent transformer --budget 7M
    """
    from openwork.cost.info import describe, describe_sizes
    from openwork.runs.usable import usable_bundle

    names = [*(names or ()), *([bundle] if bundle is not None else ())]
    if len(names) > 1 and not compare:
        raise UsageError("asked for several things at once", hint="give one name, or add --compare", code="U014")
    if compare != (budget is not None) or (compare and not names) or (vocabulary is not None and not compare):
        raise UsageError(
            "--compare, names of models and --budget go together",
            hint="write: openwork info --compare recurrent transformer --budget 7M",
            code="U075",
        )
    if html is not None:
        _write_map(names, html, is_alone=not compare)
        if not as_json:
            return
    if compare and budget is not None:
        facts = describe_sizes(names, budget, vocabulary)
    else:
        name = names[0] if names else None
        facts = describe(str(usable_bundle(Path(name))) if name and Path(name).is_dir() else name)
    print_result(lambda: facts.values, lambda: facts.lines, as_json=as_json)


def _write_map(names: list[str], html: Path, *, is_alone: bool) -> None:
    """Writes the page of a preset or bundle."""
    from openwork.base.files import atomic_write_text
    from openwork.base.messages import find_language
    from openwork.base.outputs import check_file, is_page

    if len(names) != 1 or not is_alone:
        raise UsageError(
            "--html is for one model",
            why="the page has the other members of the family beside it",
            hint="write: openwork info paper-base --html map.html",
            code="U158",
        )
    check_file(html, is_page, [Path(names[0])] if Path(names[0]).exists() else [])
    from openwork.cost.model_map.family import map_page, named_map
    from openwork.runs.usable import usable_bundle

    name = names[0]
    made = named_map(str(usable_bundle(Path(name))) if Path(name).is_dir() else name)
    atomic_write_text(html, map_page(made, find_language(os.environ)))
    report(f"written to {html}")


def tokenize(
    bundle: OptionalBundle = None,
    tokenizer: Annotated[
        Path | None,
        Option(help="Instead of a bundle: tokenizer.json, vocab.txt (BERT), vocab.json (GPT-2) or .model."),
    ] = None,
    side: Annotated[str, Option(help="Side of a bundle whose vocabulary is used: source or target.")] = "source",
    ids: Annotated[bool, Option(help="Print ids instead of pieces.")] = False,
    framed: Annotated[
        bool, Option(help="Print ids with the symbols around the text, such as [CLS] and [SEP].")
    ] = False,
    decode: Annotated[bool, Option(help="Turn ids back into text.")] = False,
    show_work: Annotated[bool, Option(help="Show every merge or match in order.")] = False,
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with character offsets.")] = False,
) -> None:
    """Cut each line of standard input into pieces.

    Spaces inside pieces are shown as ▁.

    echo 'Ein Hund.' | openwork tokenize de-en

    echo 'A dog.' | openwork tokenize --tokenizer vocab.txt --show-work
    """
    from openwork.inference.filters.tokenize import TokenFormat, find_tokenizer, tokenize_stream
    from openwork.runs.usable import usable_bundle

    form = (
        TokenFormat.JSON if as_json else TokenFormat.TEXT if decode else TokenFormat.IDS if ids else TokenFormat.PIECES
    )
    if framed:
        form = TokenFormat.FRAMED_IDS
    if show_work:
        form = TokenFormat.JSON_STEPS if as_json else TokenFormat.STEPS
    tokenize_stream(find_tokenizer(bundle, tokenizer, side, usable_bundle), form, report, translated)
