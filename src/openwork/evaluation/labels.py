"""Evaluation of labels against references, and of generated texts by ROUGE, with intervals."""

from dataclasses import asdict, dataclass
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.lines import OnProgress
from openwork.base.messages import msg
from openwork.base.tasks import COMMANDS, LABELLING, Measured, task_of
from openwork.bundles.bundle import Bundle
from openwork.data.targets import check_pairs
from openwork.evaluation.evaluate import BOOTSTRAP, EvaluationSet, Report, translate_all
from openwork.evaluation.label_scores import RANKED, label_scores, top_score
from openwork.evaluation.saved import SavedEvaluation
from openwork.inference.labeller import Labeller
from openwork.inference.next_names import NextNameRanker
from openwork.metrics.translation import Score
from openwork.text.tokenizer import SYMBOL_NAMES

TOP = 5  # labels of a picture among which the right one is looked for too, as is usual for ImageNet


@dataclass(frozen=True)
class LabelEvaluation:
    """The scores of a model on a set of examples, or those of a `baseline`, which is then described."""

    examples: int
    scores: tuple[Score, ...]
    baseline: str = ""

    def to_json(self) -> dict[str, Any]:
        scores = {"examples": self.examples, "scores": [asdict(score) for score in self.scores]}
        return {"baseline": self.baseline, **scores} if self.baseline else scores

    def lines(self) -> list[str]:
        """A report: one line a score with its interval, and the number of examples."""
        width = max(len(score.name) for score in self.scores)
        lines = [*(score.line(width) for score in self.scores), msg(f"{self.examples:,} examples")]
        return [self.baseline, *lines] if self.baseline else lines


def scored(
    task: Measured,
    tested: EvaluationSet,
    predicted: list[str],
    baseline: str = "",
    further: tuple[Score, ...] = (),
    **facts: Any,
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """The scores of the predicted labels or texts of a test set, and all lines, to be saved with these facts.

    `further` scores come after those of the labels.
    """
    scores = (*label_scores(task, tested.references, predicted, BOOTSTRAP), *further)
    result = LabelEvaluation(len(predicted), scores, baseline)
    facts = {"test": tested.name, "task": task, **facts, **result.to_json()}
    return result, SavedEvaluation(tested.sources, predicted, tested.references, None, facts)


def evaluate_labels(
    bundle: Bundle, tested: EvaluationSet, report: Report, advanced: OnProgress
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """The scores of a bundle on a labelled set, and all its labels, to be saved."""
    task = task_of(bundle.settings.model)
    if task not in LABELLING:
        raise UsageError(
            f"a model for the task {task} is not scored on labelled examples",
            hint=f"{COMMANDS[task]} is what it is for",
            code="U069",
        )
    check_pairs(tested.pairs, task, tested.name)
    shows_top = bundle.tokenizers.encoder.numbers is not None and bundle.tokenizers.sizes[1] > TOP + len(SYMBOL_NAMES)
    best = TOP if shows_top else 1
    found = Labeller(bundle.model, bundle.tokenizers, task).label(tested.sources, best, advanced=advanced)
    if cut := sum(one.cut for one in found):
        report(f"{cut:,} sources were too long for the model: their ends were left out")
    listed = [[choice.label for place in one.places for choice in place] for one in found] if shows_top else []
    further = (top_score(tested.references, listed, TOP, BOOTSTRAP),) if listed else ()
    return scored(task, tested, [" ".join(one.best) for one in found], further=further)


def evaluate_next(
    bundle: Bundle, tested: EvaluationSet, advanced: OnProgress
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """How high a language model of names ranks the name that came next; UsageError for another model."""
    ranked = NextNameRanker(bundle).rank(tested.sources, RANKED, advanced)
    return scored("next", tested, [" ".join(names) for names in ranked])


def evaluate_texts(
    bundle: Bundle, tested: EvaluationSet, report: Report, advanced: OnProgress, *, beam: int | None = None
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """ROUGE and exact matches of the texts that a bundle generates, each against one reference."""
    task = task_of(bundle.settings.model)
    if task != "generate":
        raise UsageError(
            f"--texts is for models that generate text, and this one is for the task {task}",
            hint="leave out --texts: the task decides what is scored",
            code="U081",
        )
    predicted = translate_all(bundle, tested, report, advanced, beam=beam)
    return scored("texts", tested, predicted, beam=beam or bundle.settings.decoding.beam)
