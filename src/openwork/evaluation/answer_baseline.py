"""A baseline of those that answer within a text: how often each word was in the answer to the same question.

Which words stand around a word has no say, as with the commonest tag of each word. A word's odds are of its counts
and of one more that is shared out as the question's words are on the whole (Laplace's rule with that prior), the
answer is the run of words with the largest sum of logarithms of odds (Bentley, "Programming Pearls: Algorithm Design
Techniques", 1984).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from openwork.data.records import Pair

WHAT = "the run of words that were most often in the answer to the same question"


class WordCounts:
    """How often each word was seen in texts, and how often in the answer."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.within: Counter[str] = Counter()

    def learn(self, words: Sequence[str], first: int, last: int) -> None:
        self.seen.update(words)
        self.within.update(words[first : last + 1])

    def odds(self, word: str) -> float:
        """The logarithm of the odds that it is in the answer; neither 0 nor 1 is ever believed."""
        total = self.seen.total()
        share = (self.within.total() + 1) / (total + 2)
        likely = (self.within[word] + share) / (self.seen[word] + 1)
        return math.log(likely / (1 - likely))


def best_run(values: Sequence[float]) -> tuple[int, int]:
    """The first and last place of the run with the largest sum; of equals the earliest and shortest."""
    best, found, begin, total = -math.inf, (0, 0), 0, 0.0
    for place, value in enumerate(values):
        if total <= 0:  # what stands before only takes away
            begin, total = place, 0.0
        total += value
        if total > best:
            best, found = total, (begin, place)
    return found


def answers(train: Sequence[Pair]) -> tuple[str, Callable[[Sequence[str]], list[str]]]:
    """What it is, and what tells the answers' first and last words for texts, each `question<tab>text`.

    A question that was never asked is answered by what was learnt of all of them together.
    """
    asked: defaultdict[str, WordCounts] = defaultdict(WordCounts)
    together = WordCounts()
    for pair in train:
        question, before, words = parted(pair.source)
        first, last = (int(number) - before for number in pair.target.split())
        for known in (asked[question], together):
            known.learn(words, first, last)

    def tell(texts: Sequence[str]) -> list[str]:
        return [_told(asked, together, text) for text in texts]

    return WHAT, tell


def _told(asked: dict[str, WordCounts], together: WordCounts, text: str) -> str:
    question, before, words = parted(text)
    known = asked.get(question, together)
    first, last = best_run([known.odds(word) for word in words])
    return f"{before + first} {before + last}"


def parted(source: str) -> tuple[str, int, list[str]]:
    """The question, how many words it has, and the text's words; all is text where there is no tab."""
    question, tab, text = source.partition("\t")
    if not tab:
        question, text = "", source
    return question, len(question.split()), text.split()


def are_answers(pairs: Sequence[Pair]) -> bool:
    """Whether all targets are two numbers of words, and cannot be the tags of two words each."""
    targets = [pair.target.split() for pair in pairs]
    numbers = all(len(words) == 2 and all(word.isascii() and word.isdigit() for word in words) for words in targets)
    return numbers and any(len(pair.source.split()) != 2 for pair in pairs)
