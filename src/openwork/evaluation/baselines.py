"""Baselines that know no order of words: what a model has to beat before its architecture means anything.

For classes, logistic regression on which words and pairs of neighbouring words a text has, weighted by how rare they
are (scikit-learn; the extra `tasks`). For tags, the tag that a word had most often; for what was never seen, the
commonest. For answers within a text, the words that were most often in the answer (`answer_baseline.py`).
"""

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from openwork.base.errors import ConfigError, DataError
from openwork.base.tasks import Measured, Task
from openwork.data.records import Pair
from openwork.data.targets import check_pairs
from openwork.evaluation.answer_baseline import answers, are_answers
from openwork.evaluation.evaluate import BOOTSTRAP, EvaluationSet
from openwork.evaluation.label_scores import label_scores
from openwork.evaluation.labels import score_lines
from openwork.evaluation.saved import SavedEvaluation
from openwork.evaluation.text_baselines import BASELINES, By
from openwork.metrics.translation import Score

STRENGTHS = (0.3, 1.0, 3.0, 10.0)  # inverse weights of the penalty that are tried
FOLDS = 5


@dataclass(frozen=True)
class Baseline:
    """How a baseline scores on a test set, and what it is."""

    what: str
    examples: int
    scores: tuple[Score, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"baseline": self.what, "examples": self.examples, "scores": [asdict(score) for score in self.scores]}

    def lines(self) -> list[str]:
        """For a person: what it is, then one line a score."""
        return [self.what, *score_lines(self.scores, self.examples)]


def label_baseline(train: Sequence[Pair], tested: Sequence[Pair], name: str) -> tuple[Baseline, SavedEvaluation]:
    """Learns from some pairs and is scored on others, called `name`; also all that it told, to be saved.

    Classes, tags or answers, as the targets are.
    """
    if not train or not tested:
        raise DataError(
            f"{name}: there is nothing to learn from, or nothing to score",
            why=f"pairs to learn from {len(train)}, pairs to score {len(tested)}",
            hint="name a corpus with both splits, or files with text",
            code="D119",
        )
    task = _task(train)
    check_pairs(train, task, name)
    check_pairs(tested, task, name)
    what, tell = _LEARNERS[task](train)
    return _saved(what, task, EvaluationSet(list(tested), name), tell([pair.source for pair in tested]))


def _task(train: Sequence[Pair]) -> Task:
    if all(len(pair.target.split()) == 1 for pair in train):
        return "classify"
    return "answer" if are_answers(train) else "tag"


def text_baseline(
    by: By, train: EvaluationSet, tested: EvaluationSet, behind: str = ""
) -> tuple[Baseline, SavedEvaluation]:
    """One of the baselines of those that write, and all that it told, to be saved."""
    what, told = BASELINES[by](train.pairs, [pair.source for pair in tested.pairs], behind)
    return _saved(what, "texts", tested, told)


def _saved(what: str, task: Measured, tested: EvaluationSet, told: list[str]) -> tuple[Baseline, SavedEvaluation]:
    found = Baseline(what, len(told), label_scores(task, tested.references, told, BOOTSTRAP))
    facts = {"test": tested.name, "task": task, **found.to_json()}
    return found, SavedEvaluation([pair.source for pair in tested.pairs], told, tested.references, None, facts)


def _tagger(train: Sequence[Pair]) -> tuple[str, Callable[[Sequence[str]], list[str]]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair in train:
        for word, tag in zip(pair.source.split(), pair.target.split(), strict=True):
            counts[word][tag] += 1
    total = sum(counts.values(), Counter[str]())
    commonest = max(sorted(total), key=total.__getitem__)
    best = {word: max(sorted(tags), key=tags.__getitem__) for word, tags in counts.items()}

    def tell(texts: Sequence[str]) -> list[str]:
        return [" ".join(best.get(word, commonest) for word in text.split()) for text in texts]

    return "the tag that each word had most often", tell


def _classifier(train: Sequence[Pair]) -> tuple[str, Callable[[Sequence[str]], list[str]]]:
    if find_spec("sklearn") is None:
        raise ConfigError(
            "the baseline for classes needs scikit-learn, which is not installed",
            hint="pip install scikit-learn (the extra tasks)",
            code="C084",
        )
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-not-found]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found]
    from sklearn.model_selection import cross_val_score  # type: ignore[import-not-found]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-not-found]

    texts, labels = [pair.source for pair in train], [pair.target.strip() for pair in train]

    def made(strength: float) -> Any:
        words = TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), sublinear_tf=True)
        return make_pipeline(words, LogisticRegression(C=strength, max_iter=1000))

    folds = min(FOLDS, max(Counter(labels).values()))
    strength = 1.0
    if folds > 1:  # on the training pairs alone: the test set chooses nothing
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes that are too rare for each fold
            means = {one: float(cross_val_score(made(one), texts, labels, cv=folds).mean()) for one in STRENGTHS}
        strength = max(means, key=means.__getitem__)
    model = made(strength).fit(texts, labels)

    def tell(tested: Sequence[str]) -> list[str]:
        return [str(label) for label in model.predict(list(tested))]

    return f"logistic regression on words and pairs of words, C = {strength:g}", tell


_LEARNERS: dict[Task, Callable[[Sequence[Pair]], tuple[str, Callable[[Sequence[str]], list[str]]]]] = {
    "classify": _classifier,
    "tag": _tagger,
    "answer": answers,
}
