"""Pairs whose sides do not translate each other, such as those behind a line that was lost on one side.

Two halves of the corpus judge each other. From one half IBM model 1 (`text/lexicon.py`) learns which word translates
which, in both directions; for a pair of the other half it says how much likelier the words of a side are given the
words of the other side than without them. For a translation that is much; for a chance neighbour it is nothing.
Judged by the half that it stands in, a pair would be its own best proof.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.records import Pair
from openwork.text.lexicon import Lexicon, learn_lexicon
from openwork.text.scripts import plain_words

APART = FaultKind("sides that do not translate each other")
LEAST_PAIRS = 2000  # with fewer there is too little to learn from
THRESHOLD = -0.3  # nats a word; of captions 99 % are above -0.1, their chance neighbours mostly below -1
KNOWN = 0.9  # how far the lexicon is trusted; the rest goes to the word's own frequency


def pair_faults(pairs: Sequence[Pair]) -> list[Fault]:
    """The pairs whose worth is below the threshold; none are named where there is too little to learn from."""
    if len(pairs) < LEAST_PAIRS:
        return []
    low = np.nonzero(worth(pairs) < THRESHOLD)[0].tolist()
    return [Fault(APART, place + 1, f"{pairs[place].source} ||| {pairs[place].target}") for place in low]


def worth(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Of each pair, how much the sides tell of each other: nats a word, the mean of both directions.

    Pairs without words on a side are worth infinitely much: there is nothing to judge, and other checks see them.
    """
    sides = [_numbered([side(pair) for pair in pairs]) for side in (lambda p: p.source, lambda p: p.target)]
    found = np.zeros(len(pairs))
    for one, other in (sides, sides[::-1]):
        for half in (0, 1):
            teachers = [(one[n], other[n]) for n in range(len(pairs)) if n % 2 != half]
            judge = _Judge(teachers)
            for n in range(half, len(pairs), 2):
                found[n] += judge.worth(one[n], other[n]) / 2
    return found


def _numbered(texts: Sequence[str]) -> list[list[int]]:
    """The words of each text as numbers; each word once, for a second time tells nothing new."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(word, len(numbers)) for word in dict.fromkeys(plain_words(text))] for text in texts]


class _Judge:
    """How much likelier target words are for their source words, learned from some pairs."""

    def __init__(self, pairs: Sequence[tuple[list[int], list[int]]]) -> None:
        self.table = dict(_entries(learn_lexicon(iter(pairs))))
        counts = Counter(word for _, target in pairs for word in target)
        total = sum(counts.values()) + 1
        self.frequency = {word: count / total for word, count in counts.items()}
        self.rare = 1 / total

    def worth(self, source: list[int], target: list[int]) -> float:
        """Nats a target word that is known; infinite where no side has words that are known."""
        known = [word for word in target if word in self.frequency]
        if not source or not known:
            return float("inf") if not source or not target else 0.0
        gains = 0.0
        for word in known:
            alone = self.frequency[word]
            given = sum(self.table.get((one, word), 0.0) for one in source) / len(source)
            gains += float(np.log((KNOWN * given + (1 - KNOWN) * alone) / alone))
        return gains / len(known)


def _entries(lexicon: Lexicon) -> Iterator[tuple[tuple[int, int], float]]:
    rows = (lexicon.sources.tolist(), lexicon.targets.tolist(), lexicon.probabilities.tolist())
    for source, target, probability in zip(*rows, strict=True):
        yield (source, target), probability
