"""Pairs whose sides do not translate each other, such as those behind a line that was lost on one side.

Two halves of the corpus judge each other. From one half IBM model 1 (`text/lexicon.py`) learns which word translates
which, in both directions; for a pair of the other half it says how much likelier the words of a side are given the
words of the other side than without them. For a translation that is much; for a chance neighbour it is little or less
than nothing. Judged by the half that it stands in, a pair would be its own best proof.

A word that was seen a few times says little, whatever it was seen with: its probabilities are mixed with those that
words have anyway, as if it had been seen some times more with chance neighbours (a Dirichlet prior). What speaks for
or against a pair is added up over its words and not averaged, so that two words alone are no proof. It is a ranking
and no proof anyway: free translations and proverbs stand at its top too.
"""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.check.reading import Pairs, at
from openwork.text.languages import plain_words
from openwork.text.lexicon import learn_lexicon

APART = FaultKind("sides that seem not to translate each other, the worst first")
LEAST_PAIRS = 2000  # with fewer there is too little to learn from
MOST_TEACHERS = 50_000  # pairs of a half; more would learn rarer words and take a gigabyte
THRESHOLD = -5.0  # nats, both directions added; of captions 99.9 % are above it, and 3 % of their chance neighbours
PRIOR = 5  # times that a word is thought to have been seen with chance neighbours


def pair_faults(pairs: Pairs) -> Iterator[Fault]:
    """The pairs whose worth is below the threshold, the worst first; none where there is too little to learn from."""
    if len(pairs) < LEAST_PAIRS:
        return
    found = worth(pairs)
    low = np.nonzero(found < THRESHOLD)[0].tolist()
    faults = [Fault(APART, line, f"{pair.source} ||| {pair.target}") for line, pair in at(pairs, low)]
    yield from sorted(faults, key=lambda fault: (found[fault.line - 1], fault.line))


def worth(pairs: Pairs) -> NDArray[np.float64]:
    """Of each pair, how much the sides tell of each other: nats, both directions added.

    Pairs without words on a side are worth infinitely much: there is nothing to judge, and other checks see them.
    """
    found = np.zeros(len(pairs))
    for half in (0, 1):
        judges = _learnt(pairs, 1 - half)
        for place, pair in enumerate(pairs):
            if place % 2 == half:
                source, target = _words(pair.source), _words(pair.target)
                found[place] = judges[0].worth(source, target) + judges[1].worth(target, source)
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
        self.seen = Counter(word for source in sources for word in source)

    def worth(self, source: list[str], target: list[str]) -> float:
        """Nats for all known target words; infinite where a side has no words, 0 where it has none that are known.

        A source word that is not known may be translated by anything: it says what chance says.
        """
        if not source or not target:
            return float("inf")
        given_by = [
            (number, self.seen[number]) for word in source if (number := self.numbers.get(word, -1)) in self.seen
        ]
        unknown = len(source) - len(given_by)
        known = [number for word in target if (number := self.numbers.get(word, -1)) in self.frequency]
        gains = 0.0
        for word in known:
            alone = self.frequency[word]
            given = sum(
                (seen * self.table.get(first * self.span + word, 0.0) + PRIOR * alone) / (seen + PRIOR)
                for first, seen in given_by
            )
            gains += math.log((given + unknown * alone) / len(source) / alone)
        return gains
