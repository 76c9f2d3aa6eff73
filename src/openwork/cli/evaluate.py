"""openwork evaluate"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.options import grouped
from openwork.cli.progress import progress
from openwork.cli.terminal import print_lines, run, say


@dataclass(frozen=True)
class SetOptions:
    """What is translated and compared with what."""

    source: Annotated[Path | None, typer.Option(help="Source sentences, one a line.")] = None
    reference: Annotated[Path | None, typer.Option(help="Their translations, one a line.")] = None
    corpus: Annotated[str | None, typer.Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None
    split: Annotated[str, typer.Option(help="Which part of the corpus.")] = "valid"

    def check(self) -> None:
        """UsageError unless there is one test set."""
        files = self.source is not None and self.reference is not None
        if files == (self.corpus is not None) or (self.source is None) != (self.reference is None):
            raise UsageError("name what to evaluate on", hint="give --source and --reference, or --corpus")


@grouped
def evaluate(
    *,
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    test: SetOptions,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses per sentence; 1 is greedy search.")] = None,
    language: Annotated[str | None, typer.Option(help="Target language, by which BLEU cuts words; else known.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for texts and scores, for openwork compare.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Score a translator: BLEU, chrF and lc-BLEU with signatures and 95 % intervals.

    openwork evaluate --bundle en-de --source test.en --reference test.de

    openwork evaluate --bundle en-de --corpus multi30k-en-de --out scored
    """

    def work() -> None:
        test.check()
        import json

        from openwork.systems.bundle import load_bundle
        from openwork.systems.evaluate import EvaluationSet, evaluate_bundle
        from openwork.systems.evaluation_folder import check_place, write_evaluation

        if out is not None:
            check_place(out)
        tested = EvaluationSet.read(test.source, test.reference, test.corpus, test.split)
        loaded = load_bundle(bundle)
        with progress(len(tested.pairs), "translating") as advanced:
            result, saved = evaluate_bundle(loaded, tested, say, advanced, beam=beam, language=language)
        if out is not None:
            write_evaluation(out, saved)
        if as_json:
            print(json.dumps(result.to_json(), ensure_ascii=False))
        else:
            print_lines(result.lines())

    run(work)
