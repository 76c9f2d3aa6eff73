"""openwork explain"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import HEADS, LAYERS
from openwork.base.printing import write_json
from openwork.cli.options import load
from openwork.cli.terminal import print_lines, print_text, report, translated

if TYPE_CHECKING:
    from openwork.inspection.trace import Trace


@dataclass(frozen=True)
class What:
    """The calculation to show."""

    words: Annotated[
        list[str] | None,
        Argument(
            metavar="BUNDLE SENTENCE", help="A bundle, and a sentence in its source language or the path of a picture."
        ),
    ] = None
    named: Annotated[Path | None, Option("--bundle", "-m", metavar="BUNDLE", help="The same, by name.")] = None
    example: Annotated[str | None, Option(help="A worked example instead of a sentence.")] = None
    listing: Annotated[bool, Option("--list", help="List the worked examples.")] = False

    @property
    def given(self) -> list[str]:
        """The bundle and the sentence, as far as they are given."""
        return [*([] if self.named is None else [str(self.named)]), *(self.words or ())]


@dataclass(frozen=True)
class Which:
    """The steps to show."""

    layer: Annotated[int | None, Option(max=LAYERS, help="All steps of this layer, counted from 0.")] = None
    head: Annotated[int | None, Option(max=HEADS, help="Only this attention head, counted from 0.")] = None
    every: Annotated[bool, Option("--all", help="All steps of all layers.")] = False


def explain(
    what: What,
    which: Which,
    as_json: Annotated[bool, Option("--json", help="JSON on standard output, with all numbers.")] = False,
    html: Annotated[Path | None, Option(help="Write one HTML file that opens without a network.")] = None,
) -> None:
    """Show how a translation or label is calculated, step by step.

    openwork explain de-en "Ein Hund."

    openwork explain de-en "Ein Hund." --layer 0 --head 1

    openwork explain de-en "Ein Hund." --html trace.html

    openwork explain digits seven.png --html seven.html

    openwork explain --example 002-8

    openwork explain --list
    """

    _check(what, which)
    if html is not None:
        from openwork.base.outputs import check_file, is_page

        check_file(html, is_page, map(Path, what.given[:1]))
    if what.listing:
        from openwork.study.documents import example_lines

        print_lines(example_lines())
    elif what.example is not None:
        from openwork.study.documents import find_example

        example = find_example(what.example)
        if example.trains:
            report("training a small model to show; this takes some seconds")
        _show(example(), as_json, html)
    else:
        bundle, sentence = load(Path(what.given[0])), what.given[1]
        from openwork.inference.explain import explain as explain_text
        from openwork.inspection.trace import Selection

        _show(explain_text(bundle, sentence, Selection(which.layer, which.head, which.every)), as_json, html)


def _check(what: What, which: Which) -> None:
    chosen = bool(what.given), what.example is not None, what.listing
    if sum(chosen) != 1 or len(what.given) > 2:
        raise UsageError(
            "give one of these: a sentence, --example, --list",
            hint='write the sentence in quotes: openwork explain BUNDLE "Ein Hund."',
            code="U011",
        )
    if len(what.given) == 1:
        raise UsageError(
            "a sentence and a bundle go together",
            hint='write: openwork explain BUNDLE "Ein Hund."; the bundle is the folder that openwork train --out wrote',
            code="U012",
        )
    if not what.given and which != Which():
        raise UsageError(
            "--layer, --head and --all are for a sentence",
            why="an example is shown whole",
            hint="leave them out",
            code="U013",
        )


def _show(trace: "Trace", as_json: bool, html: Path | None) -> None:
    """Writes the trace to a file, as JSON, or to the terminal."""
    from openwork.base.files import atomic_write_text
    from openwork.base.messages import find_language
    from openwork.inspection.trace_page import trace_page
    from openwork.inspection.trace_text import trace_text

    if html is not None:
        from openwork.study.page import EXAMPLES, step_page

        write = step_page if trace.name in EXAMPLES else trace_page
        atomic_write_text(html, write(trace, find_language(os.environ)))
        report(f"written to {html}")
    if as_json:
        write_json(trace.to_json())
    elif html is None:
        print_text(trace_text(trace, shutil.get_terminal_size().columns, translated))
