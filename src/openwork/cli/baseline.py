"""openwork baseline"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from openwork.base.errors import UsageError
from openwork.cli.options import AsJson
from openwork.cli.set_options import SetOptions
from openwork.cli.terminal import print_result


def baseline(
    *,
    test: SetOptions,
    train_source: Annotated[Path | None, typer.Option(help="Texts to learn from, with --source.")] = None,
    train_reference: Annotated[Path | None, typer.Option(help="Their labels, one a line.")] = None,
    train_file: Annotated[Path | None, typer.Option(help="A file of columns to learn from, with --file.")] = None,
    by: Annotated[
        Literal["lead", "nearest"] | None,
        typer.Option(help="For texts: their first words, or the target of the most similar training text."),
    ] = None,
    behind: Annotated[str, typer.Option(help="With --by: use only the part of a source after this text.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for openwork compare.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score simple baselines, such as a bag of words.

    Bag of words for classes, counts of words for tags and answers, --by for texts.

    openwork baseline --corpus sst2

    openwork baseline --corpus atis-slots

    openwork baseline --train-file train.tsv --file dev.tsv --columns sentence,label

    openwork baseline --corpus docstrings --by lead --behind ' : '
    """
    test.check()
    if (test.file is None) != (train_file is None) or (test.source is None) != (train_source is None):
        raise UsageError(
            "training data and test data must be named in the same way",
            hint="give --train-file with --file, --train-source and --train-reference with --source, or --corpus",
            code="U068",
        )
    if by is None and behind:
        raise UsageError("--behind is for baselines of texts", hint="add --by lead or --by nearest", code="U080")
    from openwork.base.outputs import EVALUATION, check_folder
    from openwork.evaluation.baselines import label_baseline, text_baseline
    from openwork.evaluation.evaluate import EvaluationSet
    from openwork.evaluation.saved import write_evaluation

    if out is not None:
        check_folder(out, EVALUATION, [train_source, train_reference, train_file, *test.files])
    if test.file is not None and train_file is not None:
        train, tested = (EvaluationSet.of_columns(path, test.column_names) for path in (train_file, test.file))
    else:
        train = EvaluationSet.read(train_source, train_reference, test.corpus, "train")
        tested = EvaluationSet.read(test.source, test.reference, test.corpus, test.split)
    if by is None:
        found, saved = label_baseline(train.pairs, tested.pairs, tested.name)
    else:
        found, saved = text_baseline(by, train, tested, behind)
    if out is not None:
        write_evaluation(out, saved)
    print_result(found.to_json, found.lines, as_json=as_json)
