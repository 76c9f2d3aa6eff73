"""openwork tokenize"""

from pathlib import Path
from typing import Annotated

from typer import Option

from openwork.cli.options import OptionalBundle
from openwork.cli.terminal import report, translated


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
