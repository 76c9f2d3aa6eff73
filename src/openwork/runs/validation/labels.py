"""Validation while training a model with a task: the loss, and the score of its task."""

from collections.abc import Sequence
from typing import Any

from openwork.base.tasks import Task
from openwork.data.records import Pair
from openwork.evaluation.label_scores import label_scores
from openwork.inference.labeller import Labeller
from openwork.metrics.accuracy import exact_match
from openwork.runs.validation.validator import Validator


class LabelValidator(Validator):
    """Looks at the same held-out pairs each time, as `Validator` does, and asks for labels instead of translations."""

    def __init__(self, task: Task, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.labeller = Labeller(self.model, self.translator.tokenizers, task, precision=self.precision)

    def told(self, sources: Sequence[str]) -> list[str]:
        return self.labeller.best(sources)

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        """The task's own score, and the share of targets that are right as a whole."""
        references = [" ".join(pair.target.split()) for pair in pairs]
        own, *_ = label_scores(self.labeller.task, references, hypotheses)
        exact = exact_match(hypotheses, references).value
        return {"score": own.value, "score_name": own.name.replace(" ", "_"), "exact": exact}, ""
