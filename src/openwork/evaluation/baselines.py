"""Baselines without word order, which a model has to beat before its architecture means anything.

Classes: logistic regression on the words and word pairs of a text, weighted by rarity (scikit-learn; the extra
`tasks`). Tags: the most frequent tag of a word, or of all words for an unknown one. Answers within a text: the words
that were most often in the answer (`answer_baseline.py`).
"""

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from openwork.base.errors import ConfigError, DataError
from openwork.base.tasks import Task
from openwork.data.records import Pair
from openwork.data.targets import check_pairs
from openwork.evaluation.answer_baseline import answers, are_answers
from openwork.evaluation.evaluate import EvaluationSet
from openwork.evaluation.labels import LabelEvaluation, scored
from openwork.evaluation.saved import SavedEvaluation
from openwork.evaluation.text_baselines import BASELINES, By

STRENGTHS = (0.3, 1.0, 3.0, 10.0)  # inverse weights of the penalty that are tried
FOLDS = 5


def label_baseline(train: Sequence[Pair], tested: Sequence[Pair], name: str) -> tuple[LabelEvaluation, SavedEvaluation]:
    """The scores of a baseline that learns from some pairs, on others called `name`; and all its labels, to be saved.

    The targets decide whether it predicts classes, tags or answers.
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
    what, predict = _LEARNERS[task](train)
    labelled = EvaluationSet(tested, name)
    return scored(task, labelled, predict(labelled.sources), what)


def _task(train: Sequence[Pair]) -> Task:
    if all(len(pair.target.split()) == 1 for pair in train):
        return "classify"
    return "answer" if are_answers(train) else "tag"


def text_baseline(
    by: By, train: EvaluationSet, tested: EvaluationSet, behind: str = ""
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """The scores of a baseline of text generation, and all its texts, to be saved."""
    what, predicted = BASELINES[by](train.pairs, tested.sources, behind)
    return scored("texts", tested, predicted, what)


def _tagger(train: Sequence[Pair]) -> tuple[str, Callable[[Sequence[str]], list[str]]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair in train:
        for word, tag in zip(pair.source.split(), pair.target.split(), strict=True):
            counts[word][tag] += 1
    total = sum(counts.values(), Counter[str]())
    most_frequent = max(sorted(total), key=total.__getitem__)
    best = {word: max(sorted(tags), key=tags.__getitem__) for word, tags in counts.items()}

    def predict(texts: Sequence[str]) -> list[str]:
        return [" ".join(best.get(word, most_frequent) for word in text.split()) for text in texts]

    return "the tag that each word had most often", predict


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

    def predict(tested: Sequence[str]) -> list[str]:
        return [str(label) for label in model.predict(list(tested))]

    return f"logistic regression on words and pairs of words, C = {strength:g}", predict


_LEARNERS: dict[Task, Callable[[Sequence[Pair]], tuple[str, Callable[[Sequence[str]], list[str]]]]] = {
    "classify": _classifier,
    "tag": _tagger,
    "answer": answers,
}
