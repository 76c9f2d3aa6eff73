"""What stands in a corpus twice, and what a test asks that training has answered: exactly, and nearly."""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.check.reading import Pairs, at
from openwork.data.records import Pair
from openwork.text.languages import plain_words

TWICE = FaultKind("the same pair again")
NEARLY_TWICE = FaultKind("nearly the same pair again")
LEAK = FaultKind("pairs of training, word for word")
SOURCE_LEAK = FaultKind("sources of training, word for word")
NEAR_LEAK = FaultKind("sources nearly as in training")

SHINGLE = 3  # words
NEAR = 0.8  # least share of the shingles of either of two sentences that both must have
_DIGITS = re.compile(r"\d+")


def plain(text: str) -> str:
    """The text without what two copies may differ in: case, spaces, punctuation, forms of characters, numbers."""
    return " ".join(plain_words(_DIGITS.sub("0", unicodedata.normalize("NFKC", text))))


def repeats(pairs: Pairs) -> Iterator[Fault]:
    """Each pair that stood there before, with the line of the first one.

    Of a pair 16 bytes are kept, so that ten million take 160 MB: what is compared are numbers of 64 bits that two
    different pairs share once in 10^19.
    """
    numbers = array("q"), array("q")  # of the pair as it is, and without what copies may differ in
    places = array("q")
    for place, pair in enumerate(pairs):
        if pair.source.strip() and pair.target.strip():
            places.append(place)
            numbers[0].append(hash(pair))
            numbers[1].append(hash((plain(pair.source), plain(pair.target))))
    exact, near = (_first_ones(np.array(of, np.int64)) for of in numbers)
    own = np.arange(len(places))
    found = np.array(places, np.int64)
    again = (exact < own) | (near < own)
    partners = {int(found[place]): int(found[near[place]]) + 1 for place in own[again & (exact == own)].tolist()}
    partners |= {int(found[place]): int(found[exact[place]]) + 1 for place in own[exact < own].tolist()}
    twice = set(found[exact < own].tolist())
    for line, pair in at(pairs, found[again].tolist()):
        yield Fault(TWICE if line - 1 in twice else NEARLY_TWICE, line, pair.source, partners[line - 1])


def _first_ones(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each number the first place where it stands."""
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    return first[which]


def leaks(held_out: Sequence[Pair], training: Iterable[Pair]) -> list[Fault]:
    """The held-out pairs, or their sources, that stand in training, or nearly do; in the order of their lines.

    What is held out is held in memory; training is gone through once.
    """
    pairs, sources, found = set(held_out), {pair.source for pair in held_out}, Shingles([p.source for p in held_out])
    leaked_pairs: dict[Pair, int] = {}
    leaked_sources: dict[str, int] = {}
    for number, pair in enumerate(training, start=1):
        if pair in pairs:
            leaked_pairs.setdefault(pair, number)
        if pair.source in sources:
            leaked_sources.setdefault(pair.source, number)
        found.look_at(pair.source, number)
    faults = []
    for line, pair in enumerate(held_out, start=1):
        if not pair.source.strip():
            continue
        if pair in leaked_pairs:
            faults.append(Fault(LEAK, line, pair.source, leaked_pairs[pair]))
        elif pair.source in leaked_sources:
            faults.append(Fault(SOURCE_LEAK, line, pair.source, leaked_sources[pair.source]))
        elif line - 1 in found.near:
            faults.append(Fault(NEAR_LEAK, line, pair.source, found.near[line - 1]))
    return faults


class Shingles:
    """Some sentences by their runs of three words: which are near to others that are looked at, and to which first."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.sizes = []
        self.places: dict[str, list[int]] = defaultdict(list)
        self.near: dict[int, int] = {}
        for place, text in enumerate(texts):
            shingles = shingles_of(text)
            self.sizes.append(len(shingles))
            for shingle in shingles:
                self.places[shingle].append(place)

    def look_at(self, text: str, line: int) -> None:
        """Another sentence, of that line: those of which it has nearly all, and nothing much besides, are near."""
        own = shingles_of(text)
        shared: dict[int, int] = defaultdict(int)
        for shingle in own:
            for place in self.places.get(shingle, ()):
                shared[place] += 1
        for place, count in shared.items():
            if count >= NEAR * max(len(own), self.sizes[place]):
                self.near.setdefault(place, line)


def shingles_of(text: str) -> set[str]:
    """Its runs of three words; of a shorter sentence the whole."""
    words = plain(text).split()
    if not words:
        return set()
    return {" ".join(words[first : first + SHINGLE]) for first in range(max(1, len(words) - SHINGLE + 1))}
