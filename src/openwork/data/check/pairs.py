"""Pairs whose sides do not belong together: by their lengths, or because they do not translate each other.

Two halves of the corpus judge each other. From one half IBM model 1 (`text/lexicon.py`) learns which word translates
which, in both directions; for a pair of the other half it gives how much more likely the words of a side are given the
words of the other side than without them. For a translation that is much; for a random pair it is little or negative.
Judged by its own half, a pair would be evidence for itself.

A word that was seen a few times is weak evidence: its probabilities are mixed with the words' unigram probabilities, as
if it had been seen some times more in random pairs (a Dirichlet prior). The evidence of a pair is the sum over its
words, not the mean, so that two words alone prove nothing. The result is a ranking: free translations and proverbs rank
high too.
"""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openwork.data.check.faults import AnyPairs, Fault, FaultKind, at
from openwork.text.languages import plain_words
from openwork.text.lexicon import learn_lexicon

LENGTHS = FaultKind("lengths that do not go together")
APART = FaultKind("sides that seem not to translate each other, the worst first")
LEAST_PAIRS = 2000  # with fewer there is too little to learn from
MOST_TEACHERS = 50_000  # pairs of a half; more would learn rarer words and take a gigabyte
FAR = 6.0  # robust standard deviations
SMOOTHING = 5  # characters that are added to both sides, so that short texts may differ more
_NORMAL = 1.4826  # the median distance from the median, times this, is a normal distribution's standard deviation
COPY = FaultKind("both sides are the same")
LEAST_COPIED = 4  # words: shorter texts may be names, numbers, the same in both languages
THRESHOLD = -5.0  # nats, both directions added; of captions 99.9 % are above it, and 3 % of random pairs
ACTED_ON = -12.0  # nats: what data clean leaves out (benchmarks/results/cleaning.json has its precision)
PRIOR = 5  # times that a word counts as seen in random pairs


def length_faults(pairs: AnyPairs) -> Iterator[Fault]:
    """The pairs whose ratio of lengths is far from the corpus's median, on a logarithmic scale."""
    ratios = np.fromiter((math.log((len(s) + SMOOTHING) / (len(t) + SMOOTHING)) for s, t in pairs), np.float64)
    if not len(ratios):
        return
    middle = float(np.median(ratios))
    spread = max(_NORMAL * float(np.median(np.abs(ratios - middle))), 0.05)
    far = np.nonzero(np.abs(ratios - middle) > FAR * spread)[0].tolist()
    yield from (Fault(LENGTHS, line, f"{pair.source} ||| {pair.target}") for line, pair in at(pairs, far))


def copies(pairs: AnyPairs) -> Iterator[Fault]:
    """The pairs whose sides are the same words: a training on them learns to copy."""
    for line, pair in enumerate(pairs, start=1):
        words = plain_words(pair.source)
        if len(words) >= LEAST_COPIED and words == plain_words(pair.target):
            yield Fault(COPY, line, pair.source)


def pair_faults(pairs: AnyPairs, below: float = THRESHOLD) -> Iterator[Fault]:
    """The pairs whose worth is `below` this, the worst first; none where there is too little to learn from."""
    if len(pairs) < LEAST_PAIRS:
        return
    found = worth(pairs)
    low = np.nonzero(found < below)[0].tolist()
    faults = [Fault(APART, line, f"{pair.source} ||| {pair.target}") for line, pair in at(pairs, low)]
    yield from sorted(faults, key=lambda fault: (found[fault.line - 1], fault.line))


def worth(pairs: AnyPairs) -> NDArray[np.float64]:
    """Of each pair, how much each side predicts the other: nats, both directions added.

    Infinite for pairs without words on a side: there is nothing to judge, and other checks find them.
    """
    found = np.zeros(len(pairs))
    for half in (0, 1):
        judges = _learnt(pairs, 1 - half)
        for place, pair in enumerate(pairs):
            if place % 2 == half:
                source, target = _words(pair.source), _words(pair.target)
                found[place] = judges[0].worth(source, target) + judges[1].worth(target, source)
    return found


def _learnt(pairs: AnyPairs, half: int) -> "tuple[_Judge, _Judge]":
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
    """Each word once; its second occurrence adds no evidence."""
    return list(dict.fromkeys(plain_words(text)))


class _Judge:
    """How much more likely target words are given the source words, learned from some pairs."""

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

        A source word that is not known gives every target word its unigram probability.
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
