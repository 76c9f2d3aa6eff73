"""Baselines without word order, which a model has to beat before its architecture means anything.

Classes: logistic regression on the words and word pairs of a text, weighted by rarity (scikit-learn; the extra
`tasks`). Tags: the most frequent tag of a word, or of all words for an unknown one. Answers within a text: the words
that were most often in the answer. Texts: the first words, or the target of the most similar training text. Names that
come next: the most frequent ones, or those that most often came after the last one.
"""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import islice, pairwise
from typing import Any, Literal

import numpy as np

from openwork.base.errors import ConfigError, DataError
from openwork.base.tasks import Measured, Task
from openwork.data.records import Pair
from openwork.data.targets import check_pairs
from openwork.evaluation.evaluate import EvaluationSet
from openwork.evaluation.label_scores import RANKED
from openwork.evaluation.labels import LabelEvaluation, scored
from openwork.evaluation.saved import SavedEvaluation
from openwork.metrics.translation import rouge
from openwork.text.languages import plain_words


class WordCounts:
    """How often each word was seen in texts, and how often in the answer; the words around it do not matter.

    The odds of a word come from its counts with one more, shared out like all words of the question (Laplace's rule
    with that prior).
    """

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.within: Counter[str] = Counter()

    def learn(self, words: Sequence[str], first: int, last: int) -> None:
        self.seen.update(words)
        self.within.update(words[first : last + 1])

    def odds(self, word: str) -> float:
        """The logarithm of the odds that a word is in the answer; its probability is never 0 or 1."""
        total = self.seen.total()
        share = (self.within.total() + 1) / (total + 2)
        likely = (self.within[word] + share) / (self.seen[word] + 1)
        return math.log(likely / (1 - likely))


def best_run(values: Sequence[float]) -> tuple[int, int]:
    """The first and last place of the run with the largest sum; of equal ones the earliest and shortest.

    Bentley, "Programming Pearls: Algorithm Design Techniques", 1984.
    """
    best, found, begin, total = -math.inf, (0, 0), 0, 0.0
    for place, value in enumerate(values):
        if total <= 0:  # the values before only take away
            begin, total = place, 0.0
        total += value
        if total > best:
            best, found = total, (begin, place)
    return found


def answers(train: Sequence[Pair]) -> tuple[str, Callable[[Sequence[str]], list[str]]]:
    """A description, and a function that predicts the first and last words of answers in texts `question<tab>text`.

    An unknown question is answered with the counts of all questions together.
    """
    by_question: defaultdict[str, WordCounts] = defaultdict(WordCounts)
    together = WordCounts()
    for pair in train:
        question, before, words = split_question(pair.source)
        first, last = (int(number) - before for number in pair.target.split())
        for known in (by_question[question], together):
            known.learn(words, first, last)

    def predict(texts: Sequence[str]) -> list[str]:
        found = []
        for question, before, words in map(split_question, texts):
            known = by_question.get(question, together)
            first, last = best_run([known.odds(word) for word in words])
            found.append(f"{before + first} {before + last}")
        return found

    return "the run of words that were most often in the answer to the same question", predict


def split_question(source: str) -> tuple[str, int, list[str]]:
    """The question, its number of words, and the words of the text; without a tab all is text."""
    question, tab, text = source.partition("\t")
    if not tab:
        question, text = "", source
    return question, len(question.split()), text.split()


def are_answers(pairs: Sequence[Pair]) -> bool:
    """Whether all targets are two word numbers and cannot be the tags of two words each."""
    targets = [pair.target.split() for pair in pairs]
    numbers = all(len(words) == 2 and all(word.isascii() and word.isdigit() for word in words) for words in targets)
    return numbers and any(len(pair.source.split()) != 2 for pair in pairs)


By = Literal["lead", "nearest", "popular", "markov"]
LONGEST_LEAD, TRIED = 40, 1000  # words, and training pairs that its length is chosen on


class Nearest:
    """Finds the most similar of some texts; of equally similar ones the first.

    A text is a vector of its words, each with weight (1 + ln count) (1 + ln((1 + texts) / (1 + texts that have it))),
    and the similarity of two texts is the cosine of their vectors (Salton and Buckley, "Term-weighting approaches in
    automatic text retrieval", 1988).
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(plain_words(text)) for text in texts]
        within = Counter(word for counts in counted for word in counts)
        self.size = len(texts)
        self.rarity = {word: 1 + math.log((1 + self.size) / (1 + count)) for word, count in within.items()}
        entries: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, counts in enumerate(counted):
            for word, weight in self._vector(counts).items():
                entries[word].append((number, weight))
        self.entries = {
            word: (np.array([one for one, _ in found]), np.array([one for _, one in found]))
            for word, found in entries.items()
        }

    def _vector(self, counts: Counter[str]) -> dict[str, float]:
        weights = {word: (1 + math.log(count)) * self.rarity[word] for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def find(self, text: str) -> tuple[int, float]:
        """The number of the most similar text and their cosine; (0, 0) if no word is known."""
        known = Counter({word: count for word, count in Counter(plain_words(text)).items() if word in self.rarity})
        cosines = np.zeros(self.size)
        for word, weight in self._vector(known).items():
            numbers, weights = self.entries[word]
            cosines[numbers] += weight * weights
        best = int(cosines.argmax())
        return best, float(cosines[best])


def lead(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The first words after the text `behind`; their number gives the best ROUGE-L on training pairs."""
    some = [(_words(pair.source, behind), pair.target) for pair in train[:TRIED]]

    def score(count: int) -> float:
        return sum(rouge(target, " ".join(words[:count])).longest for words, target in some)

    count = max(range(1, LONGEST_LEAD + 1), key=score)
    return f"the first {count} words of the text", [" ".join(_words(text, behind)[:count]) for text in texts]


def _words(text: str, behind: str) -> list[str]:
    before, found, after = text.partition(behind) if behind else ("", "", text)
    return (after if found or not behind else before).split()


def nearest(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The target of the training pair with the most similar source; both texts are compared after `behind`."""
    known = Nearest([" ".join(_words(pair.source, behind)) for pair in train])
    found = [train[known.find(" ".join(_words(text, behind)))[0]].target for text in texts]
    return "the target of the most similar training text (tf-idf, cosine)", found


def popular(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The names that are most frequent, without those of the text."""
    ranking = [name for name, _ in _frequencies(train).most_common()]
    return "the most frequent names", [" ".join(_unseen(ranking, _words(text, behind))) for text in texts]


def markov(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The names that most often followed the last one of the text, then the most frequent ones: a first-order chain."""
    follow: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair in train:
        for one, following in pairwise(f"{pair.source} {pair.target}".split()):
            follow[one][following] += 1
    frequencies = _frequencies(train)
    general = [name for name, _ in frequencies.most_common()]

    def ranking(words: Sequence[str]) -> list[str]:
        counts = follow.get(words[-1], Counter[str]()) if words else Counter[str]()
        return [*sorted(counts, key=lambda name: (-counts[name], -frequencies[name])), *general]

    ranked = (_unseen(ranking(words), words) for words in (_words(text, behind) for text in texts))
    return "the names that most often followed the last one", [" ".join(names) for names in ranked]


def _frequencies(train: Sequence[Pair]) -> Counter[str]:
    return Counter(name for pair in train for name in f"{pair.source} {pair.target}".split())


def _unseen(ranking: Sequence[str], seen: Sequence[str]) -> list[str]:
    """The first of the ranking that are not seen, each once."""
    known = {*seen}
    return list(islice(dict.fromkeys(name for name in ranking if name not in known), RANKED))


BASELINES: dict[By, Callable[[Sequence[Pair], Sequence[str], str], tuple[str, list[str]]]] = {
    "lead": lead,
    "nearest": nearest,
    "popular": popular,
    "markov": markov,
}
SCORED_AS: dict[By, Measured] = {"popular": "next", "markov": "next"}


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
    is_class = all(len(pair.target.split()) == 1 for pair in train)
    task: Task = "classify" if is_class else "answer" if are_answers(train) else "tag"
    check_pairs(train, task, name)
    check_pairs(tested, task, name)
    what, predict = _LEARNERS[task](train)
    labelled = EvaluationSet(tested, name)
    return scored(task, labelled, predict(labelled.sources), what)


def text_baseline(
    by: By, train: EvaluationSet, tested: EvaluationSet, behind: str = ""
) -> tuple[LabelEvaluation, SavedEvaluation]:
    """The scores of a baseline of texts, or of what comes next, and all its lines, to be saved."""
    what, predicted = BASELINES[by](train.pairs, tested.sources, behind)
    return scored(SCORED_AS.get(by, "texts"), tested, predicted, what)


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
