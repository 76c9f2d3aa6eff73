"""Scores of a trained model on a test set."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from openwork.api.models import TrainedModel
from openwork.api.texts import ignore_report, pairs, watched
from openwork.base.errors import UsageError
from openwork.base.pages import render
from openwork.base.tasks import task_of
from openwork.evaluation.evaluate import EvaluationSet, evaluate_bundle
from openwork.evaluation.labels import evaluate_labels
from openwork.metrics.translation import Score

Lines = str | os.PathLike[str] | Sequence[str]


class Scores(Mapping[str, Score]):
    """Scores by the names of their metrics: `scores["BLEU"].value`, or `scores.bleu.value`."""

    def __init__(self, scores: Sequence[Score], examples: int) -> None:
        self._scores = {score.name: score for score in scores}
        self.examples = examples

    @property
    def bleu(self) -> Score:
        """sacreBLEU's BLEU. KeyError for a model that predicts labels."""
        return self["BLEU"]

    @property
    def chrf(self) -> Score:
        """sacreBLEU's chrF, which it calls chrF2. KeyError for a model that predicts labels."""
        return self["chrF2"]

    def __getitem__(self, name: str) -> Score:
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        return f"Scores({', '.join(map(str, self.values()))}, {self.examples:,} examples)"

    def _repr_html_(self) -> str:
        rows = [
            (score.name, f"{score.value:.2f}", " to ".join(f"{bound:.2f}" for bound in score.interval or ()),
             score.signature)
            for score in self.values()
        ]  # fmt: skip
        return render("table.html", columns=("metric", "score", "95 %", "signature"), rows=rows)


def evaluate(
    model: TrainedModel,
    *,
    source: Lines | None = None,
    reference: Lines | None = None,
    corpus: str | None = None,
    split: str = "valid",
    beam: int | None = None,
    progress: bool = False,
) -> Scores:
    """Scores of a model on a test set: BLEU, chrF and lc-BLEU of its translations, or those of its labels.

    Args:
        model: what `openwork.load` gives.
        source: a file of source sentences, one a line, or a list of them.
        reference: a file or a list of the right answers.
        corpus: the name of a known corpus instead.
        split: which part of the corpus: train, valid or test.
        beam: hypotheses a sentence; by default as the model's settings say.
        progress: show how far it is.

    UsageError without a model or a test set; DataError for files of different lengths.

    >>> scores = openwork.evaluate(translator, source=["a b c"], reference=["a b c"])
    >>> 0 <= scores.chrf.value <= 100
    True
    """
    if not isinstance(model, TrainedModel):
        raise UsageError(
            f"evaluate takes a loaded model, and this is of type {type(model).__name__}",
            hint='load it first: openwork.load("en-de")',
            code="U097",
        )
    tested = _test_set(source, reference, corpus, split)
    task = task_of(model.settings.model)
    with watched(len(tested.pairs), "evaluating", progress=progress) as advanced:
        if task == "generate":
            result, _ = evaluate_bundle(model.bundle, tested, ignore_report, advanced, beam=beam)
            return Scores(result.scores, result.sentences)
        labelled, _ = evaluate_labels(model.bundle, tested, ignore_report, advanced)
        return Scores(labelled.scores, labelled.examples)


def _test_set(source: Lines | None, reference: Lines | None, corpus: str | None, split: str) -> EvaluationSet:
    if corpus is not None and source is None and reference is None:
        return EvaluationSet.read(None, None, corpus, split)
    if source is None or reference is None or corpus is not None:
        raise UsageError(
            "a test set is a source with its reference, or a corpus", hint="give source and reference", code="U093"
        )
    if isinstance(source, str | os.PathLike) and isinstance(reference, str | os.PathLike):
        return EvaluationSet.read(Path(source), Path(reference), None, split)
    if isinstance(source, str | os.PathLike) or isinstance(reference, str | os.PathLike):
        raise UsageError(
            "of source and reference, one is a file and one is a list", hint="give two of a kind", code="U094"
        )
    return EvaluationSet(pairs(source, reference), "the list")
