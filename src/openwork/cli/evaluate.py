"""openwork evaluate, openwork compare and openwork baseline"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import HYPOTHESES, LENGTH, SEED
from openwork.cli.options import AsJson, Bundle, load
from openwork.cli.progress import progress
from openwork.cli.terminal import print_result, report


@dataclass(frozen=True)
class SetOptions:
    """The test set: sources and references."""

    source: Annotated[Path | None, Option(help="Source sentences, one a line.")] = None
    reference: Annotated[Path | None, Option(help="Their translations or labels, one a line.")] = None
    corpus: Annotated[str | None, Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None
    split: Annotated[str, Option(help="Split of the corpus.")] = "valid"
    file: Annotated[Path | None, Option(help="One file of columns with a header line instead.")] = None
    columns: Annotated[
        str | None,
        Option(help="Its columns: one or two of the source, then that of the label; else sentence,label. Or series."),
    ] = None

    pictures: Annotated[
        Path | None, Option(help="A folder of pictures with a subfolder for each class, or a CSV file, instead.")
    ] = None
    sounds: Annotated[
        Path | None, Option(help="A CSV file of sounds and their texts, or a folder of sounds, instead.")
    ] = None

    series: Annotated[Path | None, Option(help="A CSV or Parquet file of series, one value a line, instead.")] = None
    season: Annotated[
        int | None, Option(min=1, max=LENGTH, help="Of series: values of a season; else the bundle's.")
    ] = None

    def check(self) -> None:
        """UsageError unless one test set is named."""
        files = self.source is not None and self.reference is not None
        chosen = files + sum(
            one is not None for one in (self.corpus, self.file, self.pictures, self.sounds, self.series)
        )
        if chosen != 1 or (self.source is None) != (self.reference is None):
            raise UsageError(
                "name what to evaluate on",
                hint="give --source and --reference, or --corpus, or --file with --columns, or --pictures, --sounds or "
                "--series",
                code="U010",
            )

    @property
    def files(self) -> tuple[Path | None, ...]:
        return self.source, self.reference, self.file, self.pictures, self.sounds, self.series

    def read(self) -> Any:
        from openwork.data.readers.file_lists import PICTURES, SOUNDS
        from openwork.evaluation.evaluate import EvaluationSet

        for path, kind in ((self.pictures, PICTURES), (self.sounds, SOUNDS)):
            if path is not None:
                return EvaluationSet.of_files(path, kind)
        if self.series is not None:
            return EvaluationSet.of_series(self.series, self.column_names if self.columns else ())
        if self.file is not None:
            return EvaluationSet.of_columns(self.file, self.column_names)
        return EvaluationSet.read(self.source, self.reference, self.corpus, self.split)

    @property
    def column_names(self) -> list[str]:
        return [name.strip() for name in (self.columns or "sentence,label").split(",")]


def evaluate(
    *,
    bundle: Bundle,
    test: SetOptions,
    beam: Annotated[
        int | None, Option(min=1, max=HYPOTHESES, help="Hypotheses per sentence; 1 is greedy search.")
    ] = None,
    language: Annotated[str | None, Option(help="Target language, for the tokenization of BLEU.")] = None,
    texts: Annotated[bool, Option(help="For a model that generates: score by ROUGE and exact match.")] = False,
    next_name: Annotated[
        bool, Option("--next", help="For a language model of names: score the ten that it ranks highest.")
    ] = False,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder for texts and scores, for openwork compare.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a model: BLEU and chrF, accuracy and F1, or ROUGE.

    openwork evaluate en-de --source test.en --reference test.de

    openwork evaluate en-de --corpus multi30k-en-de --out scored

    openwork evaluate rte --file dev.tsv --columns sentence1,sentence2,label

    openwork evaluate summaries --corpus docstrings --texts

    openwork evaluate films --corpus movielens-100k --next

    openwork evaluate series --corpus monthly-series --split test
    """
    test.check()
    if texts and next_name:
        raise UsageError("--texts and --next score different things", hint="leave one of them out", code="U121")
    loaded = load(bundle)
    from openwork.base.outputs import EVALUATION, check_folder
    from openwork.base.tasks import task_of
    from openwork.evaluation.evaluate import evaluate_bundle
    from openwork.evaluation.labels import evaluate_labels, evaluate_next, evaluate_texts
    from openwork.evaluation.saved import write_evaluation

    if out is not None:
        check_folder(out, EVALUATION, [bundle, *test.files])
    tested = test.read()
    if loaded.settings.series is not None or test.series is not None:
        from openwork.evaluation.forecasts import evaluate_forecasts

        if texts or next_name or out is not None:
            raise UsageError(
                "forecasts are scored beside their baselines, without --texts, --next and --out",
                hint="leave these options out; --json writes all scores",
                code="U126",
            )
        with progress(len(tested.pairs), "forecasting") as advanced:
            scores = evaluate_forecasts(loaded, tested, advanced, season=test.season)
        print_result(scores.to_json, scores.lines, as_json=as_json)
        return
    if test.season is not None:
        raise UsageError("--season is for models of series, and this is none", hint="leave it out", code="U130")
    if next_name:
        with progress(len(tested.pairs), "ranking") as advanced:
            result, saved = evaluate_next(loaded, tested, advanced)
    elif texts:
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


def baseline(
    *,
    test: SetOptions,
    train_source: Annotated[Path | None, Option(help="Texts to learn from, with --source.")] = None,
    train_reference: Annotated[Path | None, Option(help="Their labels, one a line.")] = None,
    train_file: Annotated[Path | None, Option(help="A file of columns to learn from, with --file.")] = None,
    by: Annotated[
        Literal["lead", "nearest", "popular", "markov"] | None,
        Option(
            help="For texts: their first words, or the target of the most similar training text. For what comes next: "
            "the most frequent names, or those that most often followed the last one."
        ),
    ] = None,
    behind: Annotated[str, Option(help="With --by: use only the part of a source after this text.")] = "",
    out: Annotated[Path | None, Option("--out", "-o", help="Folder for openwork compare.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score simple baselines, such as a bag of words.

    Bag of words for classes, counts of words for tags and answers, --by for texts and for what comes next.

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


@dataclass(frozen=True)
class EffortOptions:
    """Sizes and seed of the significance tests."""

    resamples: Annotated[int, Option(min=2, max=LENGTH, help="Resamples of the paired bootstrap.")] = 1000
    trials: Annotated[int, Option(min=2, max=LENGTH, help="Trials of the approximate randomisation.")] = 10000
    seed: Annotated[int, Option(min=1, max=SEED, help="Random seed of both tests.")] = 12345


def compare(
    *,
    first: Annotated[Path, Argument(metavar="A", help="Translations, one a line, or a saved evaluation.")],
    second: Annotated[Path, Argument(metavar="B", help="The same of another system.")],
    reference: Annotated[Path | None, Option(help="Reference translations, one a line.")] = None,
    language: Annotated[str | None, Option(help="Target language, for the tokenization of BLEU.")] = None,
    effort: EffortOptions,
    as_json: AsJson = False,
) -> None:
    """Compare two systems with significance tests.

    Paired bootstrap resampling and approximate randomisation.

    Translations are compared by BLEU and chrF, saved evaluations of labels by the scores of their task.

    openwork compare a.txt b.txt --reference test.de

    openwork compare old-scored new-scored

    openwork compare intents-1 intents-2
    """
    from openwork.base.files import read_lines
    from openwork.evaluation.saved import compare as compare_outputs
    from openwork.evaluation.saved import read_output
    from openwork.metrics.significance import Effort

    outputs = [read_output(path) for path in (first, second)]
    references = None if reference is None else list(read_lines(reference))
    found = compare_outputs(outputs[0], outputs[1], references, language, Effort(**vars(effort)))
    print_result(found.to_json, found.lines, as_json=as_json)
