"""openwork evaluate"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.limits import HYPOTHESES
from openwork.cli.options import AsJson, Bundle
from openwork.cli.progress import progress
from openwork.cli.set_options import SetOptions
from openwork.cli.terminal import print_result, report


def evaluate(
    *,
    bundle: Bundle,
    test: SetOptions,
    beam: Annotated[
        int | None, typer.Option(min=1, max=HYPOTHESES, help="Hypotheses per sentence; 1 is greedy search.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Target language, for the tokenization of BLEU.")] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="For a model that generates: score by ROUGE and exact match.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for texts and scores, for openwork compare.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a model: BLEU and chrF, accuracy and F1, or ROUGE.

    openwork evaluate en-de --source test.en --reference test.de

    openwork evaluate en-de --corpus multi30k-en-de --out scored

    openwork evaluate rte --file dev.tsv --columns sentence1,sentence2,label

    openwork evaluate summaries --corpus docstrings --texts
    """
    test.check()
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.base.outputs import EVALUATION, check_folder
    from openwork.base.tasks import task_of
    from openwork.bundles.bundle import load_bundle
    from openwork.evaluation.evaluate import EvaluationSet, evaluate_bundle
    from openwork.evaluation.labels import evaluate_labels, evaluate_texts
    from openwork.evaluation.saved import write_evaluation

    if out is not None:
        check_folder(out, EVALUATION, [bundle, *test.files])
    if test.file is not None:
        tested = EvaluationSet.of_columns(test.file, test.column_names)
    else:
        tested = EvaluationSet.read(test.source, test.reference, test.corpus, test.split)
    loaded = load_bundle(folder)
    if texts:
        with progress(len(tested.pairs), "writing") as advanced:
            result, saved = evaluate_texts(loaded, tested, report, advanced, beam=beam)
    elif task_of(loaded.settings.model) == "generate":
        with progress(len(tested.pairs), "translating") as advanced:
            result, saved = evaluate_bundle(loaded, tested, report, advanced, beam=beam, language=language)
    else:
        with progress(len(tested.pairs), "labelling") as advanced:
            result, saved = evaluate_labels(loaded, tested, report, advanced)
    if out is not None:
        write_evaluation(out, saved)
    print_result(result.to_json, result.lines, as_json=as_json)
