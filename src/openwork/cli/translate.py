"""openwork translate"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.decoding_options import (
    SamplingOptions,
    SearchOptions,
    WishOptions,
    given,
    settings_for_streaming,
    settings_over,
)
from openwork.cli.options import grouped
from openwork.cli.terminal import run, say


@dataclass(frozen=True)
class LineOptions:
    """What a line of input is, and what a line of output."""

    terms: Annotated[Path | None, typer.Option(help="A glossary: source term, tab, target term that must be used.")] = (
        None
    )
    requests: Annotated[
        bool, typer.Option("--requests", help='Lines are JSON: "text", "prefix", "required", "forbidden".')
    ] = False
    alternatives: Annotated[
        int | None, typer.Option(min=0, help="Show what else could follow so many pieces (--best of them).")
    ] = None
    stream: Annotated[bool, typer.Option("--stream", help="Write each piece as soon as it is found.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with scores.")] = False

    def check(self) -> None:
        """UsageError for options that do not go together."""
        others = {"--alternatives": self.alternatives is not None, "--json": self.as_json, "--terms": self.terms}
        for name, is_given in others.items():
            if self.stream and is_given:
                raise UsageError(f"--stream does not go with {name}", hint="leave one of them out")


ALTERNATIVES = 5  # shown where --best does not say


@grouped
def translate(
    *,
    bundle: Annotated[list[Path], typer.Option(help="What openwork train --out wrote; several: an ensemble.")],
    search: SearchOptions,
    sampling: SamplingOptions,
    wishes: WishOptions,
    lines: LineOptions,
) -> None:
    """Translate standard input to standard output, line for line.

    echo 'Ein Hund.' | openwork translate --bundle de-en

    openwork translate --bundle de-en < in.txt > out.txt
    """

    def work() -> None:
        lines.check()
        options = given(search, sampling, wishes)
        count = options.pop("best", ALTERNATIVES) if lines.alternatives is not None else ALTERNATIVES

        from openwork.data.glossary import read_glossary
        from openwork.systems.ensemble import load_bundles, translator_of
        from openwork.systems.requests import read_json, read_text
        from openwork.systems.translate import (
            Output,
            answer_stream,
            showing_alternatives,
            streaming,
            translating,
            with_terms,
        )

        read = read_json if lines.requests else read_text
        if lines.terms is not None:
            read = with_terms(read, read_glossary(lines.terms))
        bundles = load_bundles(bundle)
        settle = settings_for_streaming if lines.stream else settings_over
        decoding = settle(bundles[0].settings.decoding, options)
        translator, output = translator_of(bundles, decoding), Output(decoding.best, lines.as_json)
        if lines.stream:
            answering = streaming(translator)
        elif lines.alternatives is not None:
            answering = showing_alternatives(translator, output, lines.alternatives, count)
        else:
            answering = translating(translator, output)
        answer_stream(answering, say, read=read)

    run(work)
