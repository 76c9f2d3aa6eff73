"""How good a model that labels is: the scores of its task on a labelled set; and ROUGE of those that write."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.tasks import COMMANDS, LABELLING, Task, task_of
from openwork.bundles.bundle import Bundle
from openwork.data.targets import check_pairs
from openwork.evaluation.evaluate import BOOTSTRAP, EvaluationSet, translate_all
from openwork.evaluation.label_scores import label_scores
from openwork.evaluation.saved import SavedEvaluation
from openwork.inference.labeller import Labeller
from openwork.metrics.translation import Score

Say = Callable[[str], None]
Advanced = Callable[[int], None]


@dataclass(frozen=True)
class LabelEvaluation:
    """The scores of one set of labels."""

    examples: int
    scores: tuple[Score, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"examples": self.examples, "scores": [asdict(score) for score in self.scores]}

    def lines(self) -> list[str]:
        """For a person: one line a score."""
        return score_lines(self.scores, self.examples)


def score_lines(scores: tuple[Score, ...], examples: int) -> list[str]:
    """One line a score with its interval, and how many examples there were."""
    width = max(len(score.name) for score in scores)
    return [*(score.line(width) for score in scores), f"{examples:,} examples"]


def evaluate_labels(
    bundle: Bundle, tested: EvaluationSet, say: Say, advanced: Advanced
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """The scores of a bundle on a labelled set, and all that was said, to be saved."""
    task, told = label_all(bundle, tested, say, advanced)
    result = LabelEvaluation(len(told), label_scores(task, tested.references, told, BOOTSTRAP))
    facts = {"test": tested.name, "task": task, **result.to_json()}
    return result, SavedEvaluation([pair.source for pair in tested.pairs], told, tested.references, None, facts)


def label_all(bundle: Bundle, tested: EvaluationSet, say: Say, advanced: Advanced) -> tuple[Task, list[str]]:
    """The bundle's task, and what it tells of each example, as a line that a file can hold."""
    task = task_of(bundle.settings.model)
    if task not in LABELLING:
        raise UsageError(
            f"a model for the task {task} is not scored on labelled examples",
            hint=f"{COMMANDS[task]} is what it is for",
            code="U069",
        )
    check_pairs(tested.pairs, task, tested.name)
    sources = [pair.source for pair in tested.pairs]
    found = Labeller(bundle.model, bundle.tokenizers, task).label(sources, advanced=advanced)
    if cut := sum(one.cut for one in found):
        say(f"{cut:,} sources were too long for the model: their ends were left out")
    return task, [" ".join(one.best) for one in found]


def evaluate_texts(
    bundle: Bundle, tested: EvaluationSet, say: Say, advanced: Advanced, *, beam: int | None = None
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """What a bundle writes, as texts of which each is held against one: ROUGE, and how many are right to the letter."""
    task = task_of(bundle.settings.model)
    if task != "generate":
        raise UsageError(
            f"--texts is for models that write, and this one is for the task {task}",
            hint="leave out --texts: the task decides what is scored",
            code="U081",
        )
    told = translate_all(bundle, tested, say, advanced, beam=beam)
    result = LabelEvaluation(len(told), label_scores("texts", tested.references, told, BOOTSTRAP))
    facts = {"test": tested.name, "task": "texts", "beam": beam or bundle.settings.decoding.beam, **result.to_json()}
    return result, SavedEvaluation([pair.source for pair in tested.pairs], told, tested.references, None, facts)
