"""openwork score"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.options import Bundle
from openwork.cli.terminal import report


def score(
    bundle: Bundle,
    source: Annotated[
        Path | None, typer.Option(help="Source sentences, one a line, instead of standard input.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, one a line.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, with the value of each token.")
    ] = False,
) -> None:
    """Score given translations by their probability.

    Log-probability (nats), the same per token, and perplexity.

    printf 'Ein Hund.\\tA dog.\\n' | openwork score de-en

    openwork score de-en --source test.de --target test.en
    """
    if (source is None) != (target is None):
        raise UsageError(
            "--source and --target go together", hint="give both files, or source<TAB>target lines", code="U026"
        )
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)

    from openwork.bundles.bundle import load_bundle
    from openwork.inference.filters.scores import file_lines, score_lines, tabbed_lines
    from openwork.inference.scorer import Scorer

    loaded = load_bundle(folder)
    lines = tabbed_lines(report) if source is None or target is None else file_lines(source, target, report)
    score_lines(Scorer(loaded.model, loaded.tokenizers), lines, report, as_json=as_json)
