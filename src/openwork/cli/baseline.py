"""openwork baseline"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.options import grouped
from openwork.cli.set_options import SetOptions
from openwork.cli.terminal import print_lines, run


@grouped
def baseline(
    *,
    test: SetOptions,
    train_source: Annotated[Path | None, typer.Option(help="Texts to learn from, with --source.")] = None,
    train_reference: Annotated[Path | None, typer.Option(help="Their labels, one a line.")] = None,
    train_file: Annotated[Path | None, typer.Option(help="A file of columns to learn from, with --file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Score what knows no order of words: bag of words for classes, each word's commonest tag for tags.

    openwork baseline --corpus sst2

    openwork baseline --corpus atis-slots

    openwork baseline --train-file train.tsv --file dev.tsv --columns sentence,label
    """

    def work() -> None:
        test.check()
        if (test.file is None) != (train_file is None) or (test.source is None) != (train_source is None):
            raise UsageError(
                "name what to learn from in the form in which what to score is named",
                hint="give --train-file with --file, --train-source and --train-reference with --source, or --corpus",
            )
        import json

        from openwork.systems.bag_of_words import baseline as scored
        from openwork.systems.evaluate import EvaluationSet

        if test.file is not None and train_file is not None:
            train, tested = (EvaluationSet.of_columns(path, test.column_names) for path in (train_file, test.file))
        else:
            train = EvaluationSet.read(train_source, train_reference, test.corpus, "train")
            tested = EvaluationSet.read(test.source, test.reference, test.corpus, test.split)
        found = scored(train.pairs, tested.pairs, tested.name)
        if as_json:
            print(json.dumps(found.to_json(), ensure_ascii=False))
        else:
            print_lines(found.lines())

    run(work)
