"""openwork compare"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH, SEED
from openwork.cli.options import AsJson, load
from openwork.cli.progress import progress
from openwork.cli.terminal import print_result, report

if TYPE_CHECKING:
    from openwork.evaluation.compare import SystemOutput


@dataclass(frozen=True)
class ReferenceOptions:
    """The reference that both systems are compared with."""

    reference: Annotated[Path | None, Option(help="Reference translations, one a line.")] = None
    source: Annotated[Path | None, Option(help="For bundles: source sentences, one a line.")] = None
    corpus: Annotated[str | None, Option(help="For bundles: a known corpus, as multi30k-en-de.")] = None
    split: Annotated[str, Option(help="For bundles: split of the corpus.")] = "valid"
    language: Annotated[str | None, Option(help="Target language, for the tokenization of BLEU.")] = None


@dataclass(frozen=True)
class EffortOptions:
    """Sizes and seed of the significance tests."""

    resamples: Annotated[int, Option(min=2, max=LENGTH, help="Resamples of the paired bootstrap.")] = 1000
    trials: Annotated[int, Option(min=2, max=LENGTH, help="Trials of the approximate randomisation.")] = 10000
    seed: Annotated[int, Option(min=1, max=SEED, help="Random seed of both tests.")] = 12345


def compare(
    *,
    first: Annotated[Path, Argument(metavar="A", help="Translations, a saved evaluation, or a bundle.")],
    second: Annotated[Path, Argument(metavar="B", help="The same of another system.")],
    against: ReferenceOptions,
    effort: EffortOptions,
    as_json: AsJson = False,
) -> None:
    """Compare two systems with significance tests.

    Paired bootstrap resampling and approximate randomisation.

    Translations are compared by BLEU and chrF, saved evaluations of labels by the scores of their task.

    openwork compare a.txt b.txt --reference test.de

    openwork compare old new --corpus multi30k-en-de --split valid

    openwork compare intents-1 intents-2
    """
    from openwork.evaluation.compare import compare as compare_outputs
    from openwork.evaluation.compare import read_output
    from openwork.metrics.significance import Effort

    references: list[str] | None = None
    if against.source is not None or against.corpus is not None:
        outputs = _translated((first, second), against)
    else:
        outputs = [read_output(first), read_output(second)]
        if against.reference is not None:
            from openwork.base.files import read_lines

            references = list(read_lines(against.reference))
    found = compare_outputs(outputs[0], outputs[1], references, against.language, Effort(**vars(effort)))
    print_result(found.to_json, found.lines, as_json=as_json)


def _translated(bundles: tuple[Path, Path], against: ReferenceOptions) -> "list[SystemOutput]":
    """The outputs of two bundles for a test set: translations or labels."""
    if (against.corpus is not None) == (against.source is not None and against.reference is not None):
        raise UsageError("name what to compare on", hint="give --source and --reference, or --corpus", code="U002")

    from openwork.base.tasks import task_of
    from openwork.evaluation.compare import SystemOutput
    from openwork.evaluation.evaluate import EvaluationSet, translate_all
    from openwork.evaluation.labels import label_all

    tested = EvaluationSet.read(against.source, against.reference, against.corpus, against.split)
    loaded = [load(path) for path in bundles]
    outputs = []
    for path, bundle in zip(bundles, loaded, strict=True):
        is_labelling = task_of(bundle.settings.model) != "generate"
        with progress(len(tested.pairs), f"{'labelling' if is_labelling else 'translating'} with {path}") as advanced:
            if is_labelling:
                task, lines = label_all(bundle, tested, report, advanced)
                language = None
            else:
                task, lines = None, translate_all(bundle, tested, report, advanced)
                language = bundle.settings.target_language or tested.language
        outputs.append(SystemOutput(str(path), lines, tested.references, language, task=task))
    return outputs
