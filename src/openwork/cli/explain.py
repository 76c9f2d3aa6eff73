"""openwork explain"""

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
        Argument(metavar="BUNDLE SENTENCE", help="A bundle, and a sentence in its source language."),
    ] = None
    named: Annotated[Path | None, Option("--bundle", "-m", metavar="BUNDLE", help="The same, by name.")] = None
    example: Annotated[str | None, Option(help="A worked example instead of a sentence.")] = None
    listing: Annotated[bool, Option("--list", help="List the worked examples.")] = False

    @property
    def bundle(self) -> Path | None:
        """The bundle's folder: the option, or the first argument."""
        if self.named is None and self.words and (len(self.words) > 1 or self.sentence is None):
            return Path(self.words[0])
        return self.named

    @property
    def sentence(self) -> str | None:
        """The sentence: the last argument, unless a worked example or the list is shown."""
        return self.words[-1] if self.words and self.example is None and not self.listing else None


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
    """Show how a translation is calculated, with every number.

    openwork explain de-en "Ein Hund."

    openwork explain de-en "Ein Hund." --layer 0 --head 1

    openwork explain de-en "Ein Hund." --html trace.html

    openwork explain --example 002-8

    openwork explain --list
    """

    _check(what, which)
    if what.listing:
        from openwork.study.documents import example_lines

        print_lines(example_lines())
    else:
        if html is not None:
            from openwork.base.outputs import check_file, is_page

            check_file(html, is_page, [what.bundle])
        _show(_trace(what, which), as_json, html)


def _check(what: What, which: Which) -> None:
    is_of_sentence = what.example is None and not what.listing
    too_many = len(what.words or ()) > (what.named is None) + is_of_sentence
    if too_many or sum((what.sentence is not None, what.example is not None, what.listing)) != 1:
        raise UsageError(
            "give one of these: a sentence, --example, --list",
            hint='write the sentence in quotes: openwork explain BUNDLE "Ein Hund."',
            code="U011",
        )
    if (what.sentence is not None and what.bundle is None) or (what.listing and what.bundle is not None):
        raise UsageError(
            "a sentence and a bundle go together",
            hint='write: openwork explain BUNDLE "Ein Hund."; the bundle is the folder that openwork train --out wrote',
            code="U012",
        )
    if what.sentence is None and which != Which():
        raise UsageError(
            "--layer, --head and --all are for a sentence",
            why="an example is shown whole",
            hint="leave them out",
            code="U013",
        )


def _trace(what: What, which: Which) -> "Trace":
    bundle = None if what.bundle is None else load(what.bundle)
    from openwork.inference.explain import explain as explain_text
    from openwork.inspection.trace import Selection
    from openwork.study.documents import EXAMPLES, explain_example

    if what.example is not None:
        worked = EXAMPLES.get(what.example)
        if worked is not None and worked.of_a_model and bundle is None:
            report("training a small model to show; this takes some seconds (--bundle shows one of yours)")
        return explain_example(what.example, bundle)
    assert bundle is not None and what.sentence is not None
    return explain_text(bundle, what.sentence, Selection(which.layer, which.head, which.every))


def _show(trace: "Trace", as_json: bool, html: Path | None) -> None:
    """Writes the trace to a file, as JSON, or to the terminal."""
    import os
    import shutil

    from openwork.base.files import atomic_write_text
    from openwork.base.messages import find_language
    from openwork.inspection.trace_page import trace_page
    from openwork.inspection.trace_text import trace_text

    if html is not None:
        atomic_write_text(html, trace_page(trace, find_language(os.environ)))
        report(f"written to {html}")
    if as_json:
        write_json(trace.to_json())
    elif html is None:
        print_text(trace_text(trace, shutil.get_terminal_size().columns, translated))
