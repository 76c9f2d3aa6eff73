"""openwork evaluate"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.limits import HYPOTHESES
from openwork.base.printing import write_json
from openwork.cli.options import grouped
from openwork.cli.progress import progress
from openwork.cli.set_options import SetOptions
from openwork.cli.terminal import print_lines, run, say


@grouped
def evaluate(
    *,
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    test: SetOptions,
    beam: Annotated[
        int | None, typer.Option(min=1, max=HYPOTHESES, help="Hypotheses per sentence; 1 is greedy search.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Target language, by which BLEU cuts words; else known.")] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Of a model that writes: score by ROUGE and as a whole.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for texts and scores, for openwork compare.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Score a translator (BLEU, chrF, lc-BLEU), a model that labels (accuracy, F1) or one that writes (--texts).

    openwork evaluate --bundle en-de --source test.en --reference test.de

    openwork evaluate --bundle en-de --corpus multi30k-en-de --out scored

    openwork evaluate --bundle rte --file dev.tsv --columns sentence1,sentence2,label

    openwork evaluate --bundle summaries --corpus docstrings --texts
    """

    def work() -> None:
        test.check()
        from openwork.systems.bundle_search import check_bundle

        check_bundle(bundle)
        from openwork.systems.bundle import load_bundle
        from openwork.systems.evaluate import EvaluationSet, evaluate_bundle
        from openwork.systems.evaluate_labels import evaluate_labels, evaluate_texts
        from openwork.systems.evaluation_folder import write_evaluation
        from openwork.systems.outputs import EVALUATION, check_folder
        from openwork.systems.tasks import task_of

        if out is not None:
            check_folder(out, EVALUATION, [bundle, *test.files])
        if test.file is not None:
            tested = EvaluationSet.of_columns(test.file, test.column_names)
        else:
            tested = EvaluationSet.read(test.source, test.reference, test.corpus, test.split)
        loaded = load_bundle(bundle)
        if texts:
            with progress(len(tested.pairs), "writing") as advanced:
                result, saved = evaluate_texts(loaded, tested, say, advanced, beam=beam)
        elif task_of(loaded.settings.model) == "write":
            with progress(len(tested.pairs), "translating") as advanced:
                result, saved = evaluate_bundle(loaded, tested, say, advanced, beam=beam, language=language)
        else:
            with progress(len(tested.pairs), "labelling") as advanced:
                result, saved = evaluate_labels(loaded, tested, say, advanced)
        if out is not None:
            write_evaluation(out, saved)
        if as_json:
            write_json(result.to_json())
        else:
            print_lines(result.lines())

    run(work)
