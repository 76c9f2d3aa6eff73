"""Baseline of answers within a text: how often each word was in the answer to the same question.

The words around a word do not matter. The odds of a word come from its counts with one more, shared out like all words
of the question (Laplace's rule with that prior). The answer is the run of words with the largest sum of log odds
(Bentley, "Programming Pearls: Algorithm Design Techniques", 1984).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from openwork.data.records import Pair


class WordCounts:
    """How often each word was seen in texts, and how often in the answer."""

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
    """The first and last place of the run with the largest sum; of equal ones the earliest and shortest."""
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
