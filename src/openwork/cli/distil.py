"""openwork distill and backtranslate"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.options import NAME_ONE, Assignments, DecodingOptions, NamesBundle, given
from openwork.cli.terminal import print_lines, report
from openwork.cli.train import LengthOptions, check_length, set_keys, train_for, train_settings
from openwork.inference.settings import TranslationPrecision


@dataclass(frozen=True)
class SentenceOptions:
    """What a student learns from."""

    source: Annotated[Path | None, Option(help="Source sentences, one a line (plain or gzip).")] = None
    target: Annotated[Path | None, Option(help="Their translations, for --nearest and for --level word.")] = None
    valid_source: Annotated[Path | None, Option(help="Source sentences to validate with.")] = None
    valid_target: Annotated[Path | None, Option(help="Their translations.")] = None
    corpus: Annotated[str | None, Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None


@dataclass(frozen=True)
class TeacherOptions:
    """The teacher, and what of it the student learns."""

    bundle: Annotated[list[Path] | None, NamesBundle("The teacher; several: an ensemble.")] = None
    level: Annotated[
        Literal["sequence", "word", "both"],
        Option(help="What is learnt: the teacher's translations, its probabilities for each piece, or both."),
    ] = "both"
    nearest: Annotated[
        int, Option(min=1, max=LENGTH, help="Of so many translations take the nearest to the given target.")
    ] = 1
    precision: Annotated[TranslationPrecision, Option(help="Number type in which the teacher translates.")] = "float32"
    from_bundle: Annotated[
        Path | None, Option(help="The student goes on from this bundle, such as the pruned teacher.")
    ] = None


def distill(
    *,
    teacher: TeacherOptions,
    sentences: SentenceOptions,
    out: Annotated[Path, Option("--out", "-o", help="Folder of the student's run; what is there continues.")],
    length: LengthOptions,
    assignments: Assignments = None,
) -> None:
    """Train a small, fast student that translates as a trained model does.

    By itself the student has a quarter of its teacher's operations, and its vocabulary. After an interruption the same
    command continues.

    openwork distill en-de --source train.en --valid-source valid.en --valid-target valid.de --out small

    openwork distill multi30k --corpus multi30k-en-de --nearest 4 --minutes 20 --out small

    openwork distill en-de --from-bundle pruned --source train.en --out small
    """
    if not teacher.bundle:
        raise UsageError("no bundle was named", hint=NAME_ONE, code="U032")
    check_length(length)
    if length.rehearse is not None:
        raise UsageError("--rehearse goes with train", hint="leave it out", code="U167")
    from openwork.cli.progress import progress
    from openwork.runs.synthetic.teaching import Teaching

    teaching = Teaching(tuple(teacher.bundle), teacher.level, teacher.nearest, teacher.precision, teacher.from_bundle)
    sections = teaching.sections(given(sentences), out, report, progress)
    _train(out, sections, assignments or [], length)


def backtranslate(
    *,
    bundle: Annotated[list[Path] | None, NamesBundle("A model of the other direction; several: an ensemble.")] = None,
    source: Annotated[Path | None, Option(help="Sentences of the target language, one a line.")] = None,
    corpus: Annotated[str | None, Option(help="A known corpus instead, whose targets are translated.")] = None,
    out: Annotated[Path, Option("--out", "-o", help="Folder for source.txt and target.txt; what is there continues.")],
    tag: Annotated[str, Option(help="Put before each source, such as <BT>, so that a training can tell them.")] = "",
    precision: Annotated[TranslationPrecision, Option(help="Number type of the matrix products.")] = "float32",
    searching: DecodingOptions,
) -> None:
    """Make training pairs of sentences without a translation, by a model of the other direction.

    Its texts become the sources; what repeats itself, copies or has another length is left out. After an interruption
    the same command continues. A run file mixes these pairs with others by weight, as [[data.mix]].

    openwork backtranslate de-en --source news.de --out back

    openwork backtranslate de-en --source news.de --samples 1 --top-k 10 --tag '<BT>' --out back
    """
    if not bundle:
        raise UsageError("no bundle was named", hint=NAME_ONE, code="U032")
    from openwork.cli.progress import progress
    from openwork.runs.synthetic.corpus import corpus_of
    from openwork.runs.usable import usable_bundle

    sentences = corpus_of(corpus, source, side="target")
    paths = [usable_bundle(one) for one in bundle]
    from openwork.runs.synthetic.backtranslation import back_translation_plan
    from openwork.runs.synthetic.translated import write_pairs

    plan = back_translation_plan(paths, given(searching), " ".join(tag.split()), precision)
    print_lines(write_pairs(plan, sentences, out, report, progress).lines())
    report(f"done: openwork train --source {out / 'source.txt'} --target {out / 'target.txt'}")


def _train(out: Path, sections: dict[str, Any], assignments: list[str], length: LengthOptions) -> None:
    """Trains the student, whose other settings follow from the data, or continues."""
    from openwork.runs.file.resolve import resolve

    steps = [f"training.steps={length.steps}"] if length.steps is not None else []
    settings = resolve(None, [*assignments, *steps], sections, report).settings
    if length.minutes is not None:
        train_for(length.minutes, settings, out, set_keys(assignments), 1)
    else:
        train_settings(settings, out, 1)
