"""Pairs whose sides do not translate each other, such as those behind a line that was lost on one side.

Two halves of the corpus judge each other. From one half IBM model 1 (`text/lexicon.py`) learns which word translates
which, in both directions; for a pair of the other half it says how much likelier the words of a side are given the
words of the other side than without them. For a translation that is much; for a chance neighbour it is nothing.
Judged by the half that it stands in, a pair would be its own best proof.
"""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.check.reading import Pairs, at
from openwork.text.lexicon import learn_lexicon
from openwork.text.scripts import plain_words

APART = FaultKind("sides that do not translate each other")
LEAST_PAIRS = 2000  # with fewer there is too little to learn from
MOST_TEACHERS = 50_000  # pairs of a half; more would learn rarer words and take a gigabyte
THRESHOLD = -0.3  # nats a word; of captions 99 % are above -0.1, their chance neighbours mostly below -1
KNOWN = 0.9  # how far the lexicon is trusted; the rest goes to the word's own frequency


def pair_faults(pairs: Pairs) -> Iterator[Fault]:
    """The pairs whose worth is below the threshold; none are named where there is too little to learn from."""
    if len(pairs) < LEAST_PAIRS:
        return
    low = np.nonzero(worth(pairs) < THRESHOLD)[0].tolist()
    yield from (Fault(APART, line, f"{pair.source} ||| {pair.target}") for line, pair in at(pairs, low))


def worth(pairs: Pairs) -> NDArray[np.float64]:
    """Of each pair, how much the sides tell of each other: nats a word, the mean of both directions.

    Pairs without words on a side are worth infinitely much: there is nothing to judge, and other checks see them.
    """
    found = np.zeros(len(pairs))
    for half in (0, 1):
        judges = _learnt(pairs, 1 - half)
        for place, pair in enumerate(pairs):
            if place % 2 == half:
                source, target = _words(pair.source), _words(pair.target)
                found[place] = (judges[0].worth(source, target) + judges[1].worth(target, source)) / 2
    return found


def _learnt(pairs: Pairs, half: int) -> "tuple[_Judge, _Judge]":
    """Judges of both directions, from up to `MOST_TEACHERS` pairs of a half, spread evenly over it."""
    numbers: dict[str, int] = {}
    every = 2 * math.ceil(len(pairs) / 2 / MOST_TEACHERS)
    sides: tuple[list[list[int]], list[list[int]]] = [], []
    for place, pair in enumerate(pairs):
        if place % every == half:
            for known, text in zip(sides, pair, strict=True):
                known.append([numbers.setdefault(word, len(numbers)) for word in _words(text)])
    return _Judge(numbers, *sides), _Judge(numbers, *sides[::-1])


def _words(text: str) -> list[str]:
    """Each word once; for a second time it tells nothing new."""
    return list(dict.fromkeys(plain_words(text)))


class _Judge:
    """How much likelier target words are for their source words, learned from some pairs."""

    def __init__(self, numbers: dict[str, int], sources: list[list[int]], targets: list[list[int]]) -> None:
        self.numbers, self.span = numbers, len(numbers)
        lexicon = learn_lexicon(zip(sources, targets, strict=True))
        links = (lexicon.sources * self.span + lexicon.targets).tolist()
        self.table = dict(zip(links, lexicon.probabilities.tolist(), strict=True))
        counts = Counter(word for target in targets for word in target)
        total = sum(counts.values()) + 1
        self.frequency = {word: count / total for word, count in counts.items()}

    def worth(self, source: list[str], target: list[str]) -> float:
        """Nats a target word that is known; infinite where a side has no words, 0 where it has none that are known."""
        if not source or not target:
            return float("inf")
        given_by = [number * self.span for word in source if (number := self.numbers.get(word)) is not None]
        known = [number for word in target if (number := self.numbers.get(word)) in self.frequency]
        gains = 0.0
        for word in known:
            alone = self.frequency[word]
            given = sum(self.table.get(first + word, 0.0) for first in given_by) / len(source)
            gains += math.log((KNOWN * given + (1 - KNOWN) * alone) / alone)
        return gains / len(known) if known else 0.0
