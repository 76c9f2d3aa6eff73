"""Evaluation of texts against references: BLEU and chrF, or error rates, with signatures and confidence intervals."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from openwork.base.config import build
from openwork.base.lines import OnProgress
from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.data.pairs import read_pairs
from openwork.data.readers.file_lists import FileKind, read_list
from openwork.data.readers.formats import without_skips
from openwork.data.readers.lines import read_columns
from openwork.data.readers.series import read_series, split_by_time
from openwork.data.records import Pair
from openwork.data.sources import corpus_languages
from openwork.evaluation.label_scores import check_not_empty
from openwork.evaluation.saved import SavedEvaluation
from openwork.inference.translator import BatchTranslator
from openwork.metrics.ratio import Ratio, exact_match, placeholders_kept
from openwork.metrics.recognition import error_rates
from openwork.metrics.translation import SPACED, Score, bleu, bleu_tokenisation, chrf, lowercased_bleu
from openwork.text.placeholders import find_placeholders

Report = Callable[[str], None]

BOOTSTRAP = 1000  # resamplings for the 95 % intervals


@dataclass(frozen=True)
class Evaluation:
    """The scores of one set of translations; `placeholders`: how many of the sentences with placeholders keep them."""

    sentences: int
    scores: tuple[Score, ...]
    exact: float
    placeholders: Ratio = field(default_factory=Ratio)

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "sentences": self.sentences,
            "scores": [asdict(score) for score in self.scores],
            "exact": self.exact,
        }
        if self.placeholders.count:
            values["placeholders"] = {"kept": self.placeholders.value, "sentences": self.placeholders.count}
        return values

    def lines(self) -> list[str]:
        """A report: one line a score, its signature below."""
        lines = []
        for score in self.scores:
            lines += [score.line(), f"         {score.signature}"]
        lines.append(msg(f"exact    {100 * self.exact:6.2f} % of {self.sentences:,} sentences"))
        if self.placeholders.count:
            share, count = 100 * self.placeholders.value, self.placeholders.count
            lines.append(msg(f"kept     {share:6.2f} % of {count:,} sentences with placeholders or tags"))
        return lines


def evaluate(
    hypotheses: Sequence[str], references: Sequence[str], language: str | None, bootstrap: int = BOOTSTRAP
) -> Evaluation:
    """BLEU and chrF of sacreBLEU, lc-BLEU as in the Multi30k papers, and exact matches.

    `language` is that of the targets; without one Chinese, Japanese and Korean are recognised by their script. They
    have no lc-BLEU, since Moses' rules split words at spaces.
    """
    scores = (
        bleu(hypotheses, references, language=language, bootstrap=bootstrap),
        chrf(hypotheses, references, bootstrap=bootstrap),
    )
    if bleu_tokenisation(language, references) == SPACED:
        code = (language or "en").replace("_", "-").partition("-")[0].lower()
        scores += (lowercased_bleu(hypotheses, references, language=code, bootstrap=bootstrap),)
    return Evaluation(len(references), scores, exact_match(hypotheses, references).value)


def kept_placeholders(sources: Sequence[str], translations: Sequence[str]) -> Ratio:
    """How many sources with placeholders, tags or mark-up have a translation with exactly the same ones."""
    return placeholders_kept(list(map(find_placeholders, sources)), list(map(find_placeholders, translations)))


@dataclass(frozen=True)
class EvaluationSet:
    """Sentences with their references, their name, and the language of the references if it is known."""

    pairs: Sequence[Pair]
    name: str
    language: str | None = None

    @classmethod
    def read(cls, source: Path | None, reference: Path | None, corpus: str | None, split: str) -> "EvaluationSet":
        """Two aligned files, or one split of a known corpus."""
        pairs = check_not_empty(read_pairs(source, reference, corpus, split))
        if corpus is not None:
            return cls(pairs, f"{corpus} ({split})", corpus_languages([corpus])[1])
        return cls(pairs, f"{source}, {reference}")

    @classmethod
    def of_columns(cls, file: Path, columns: Sequence[str]) -> "EvaluationSet":
        """The columns of these names in a file with a header line; the last column holds the references."""
        return cls(check_not_empty(list(read_columns(file, columns))), str(file))

    @classmethod
    def of_files(cls, path: Path, kind: FileKind) -> "EvaluationSet":
        """The files of a folder with a subfolder for each class, or of a CSV file."""
        return cls(check_not_empty(list(without_skips(read_list(path, kind), {}))), str(path))

    @classmethod
    def of_series(cls, path: Path, columns: Sequence[str] = ()) -> "EvaluationSet":
        """The last part of each series in a file, with the values before it."""
        pairs = [split_by_time(values, "test") for values in read_series(path, columns).values()]
        return cls(check_not_empty(pairs), str(path))

    @property
    def sources(self) -> list[str]:
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        return [pair.target for pair in self.pairs]


def translate_all(
    bundle: Bundle, tested: EvaluationSet, report: Report, advanced: OnProgress, *, beam: int | None = None
) -> list[str]:
    """The bundle's best translation of each sentence, as a line that a file can hold."""
    settings = bundle.settings.decoding
    decoding = build(type(settings), {**settings.model_dump(), "beam": beam or settings.beam, "best": 1})
    translations = BatchTranslator.of(bundle, decoding).translate(tested.sources, advanced=advanced)
    if cut := sum(best.cut for best, *_ in translations):
        report(f"{cut:,} sources were too long for the model: their ends were left out")
    if incomplete := sum(bool(best.missing) for best, *_ in translations):
        report(f"{incomplete:,} translations lack a placeholder of their source")
    return [best.text.replace("\0", "\ufffd") for best, *_ in translations]


def evaluate_bundle(
    bundle: Bundle,
    tested: EvaluationSet,
    report: Report,
    advanced: OnProgress,
    *,
    beam: int | None = None,
    language: str | None = None,
) -> tuple[Evaluation, SavedEvaluation]:
    """The scores of a bundle on a test set, and all its translations, to be saved; of sounds the error rates."""
    target = language or bundle.settings.target_language or tested.language
    translations = translate_all(bundle, tested, report, advanced, beam=beam)
    if bundle.settings.sound is not None:
        rates = error_rates(translations, tested.references, bootstrap=BOOTSTRAP)
        result = Evaluation(len(translations), rates, exact_match(translations, tested.references).value)
    else:
        kept = kept_placeholders(tested.sources, translations)
        result = replace(evaluate(translations, tested.references, target), placeholders=kept)
    facts = {"test": tested.name, "beam": beam or bundle.settings.decoding.beam, **result.to_json()}
    return result, SavedEvaluation(tested.sources, translations, tested.references, target, facts)
