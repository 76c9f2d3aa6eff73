"""Duplicates in a corpus, and held-out pairs that are also in training (leaks): exact and near."""

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from openwork.data.check.faults import AnyPairs, Fault, FaultKind, at
from openwork.data.records import Pair
from openwork.text.languages import plain_words

TWICE = FaultKind("the same pair again")
NEARLY_TWICE = FaultKind("nearly the same pair again")
LEAK = FaultKind("pairs of training, word for word")
SOURCE_LEAK = FaultKind("sources of training, word for word")
NEAR_LEAK = FaultKind("sources nearly as in training")

SHINGLE = 3  # words
NEAR = 0.8  # the least share of shared shingles, of the sentence that has more of them
_DIGITS = re.compile(r"\d+")


def plain(text: str) -> str:
    """The text without the differences of near copies: case, spaces, punctuation, forms of characters, numbers."""
    return " ".join(plain_words(_DIGITS.sub("0", unicodedata.normalize("NFKC", text))))


def repeats(pairs: AnyPairs) -> Iterator[Fault]:
    """Each pair that occurred before, with the line of the first one.

    Of a pair 16 bytes are kept, so that ten million take 160 MB: the comparison is of hashes of 64 bits, which two
    different pairs share once in 10^19.
    """
    hashes = array("q"), array("q")  # of the pair, and of the pair without the differences of near copies
    places = array("q")
    for place, pair in enumerate(pairs):
        if pair.source.strip() and pair.target.strip():
            places.append(place)
            hashes[0].append(hash(pair))
            hashes[1].append(hash((plain(pair.source), plain(pair.target))))
    own, found = np.arange(len(places)), np.array(places, np.int64)
    counted = (np.unique(np.array(of, np.int64), return_index=True, return_inverse=True) for of in hashes)
    exact, near = (first[which] for _, first, which in counted)
    first = np.where(exact < own, exact, near)
    again = first < own
    partners = dict(zip(found[again].tolist(), found[first[again]].tolist(), strict=True))
    twice = set(found[exact < own].tolist())
    for line, pair in at(pairs, partners):
        yield Fault(TWICE if line - 1 in twice else NEARLY_TWICE, line, pair.source, partners[line - 1] + 1)


def leaks(held_out: Sequence[Pair], training: Iterable[Pair]) -> Iterator[Fault]:
    """The held-out pairs, or their sources, that are in training, or nearly; in the order of their lines.

    The held-out pairs are kept in memory; training is read once.
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
    for line, pair in enumerate(held_out, start=1):
        if not pair.source.strip():
            continue
        if pair in leaked_pairs:
            yield Fault(LEAK, line, pair.source, leaked_pairs[pair])
        elif pair.source in leaked_sources:
            yield Fault(SOURCE_LEAK, line, pair.source, leaked_sources[pair.source])
        elif line - 1 in found.near:
            yield Fault(NEAR_LEAK, line, pair.source, found.near[line - 1])


class Shingles:
    """Some sentences by their runs of three words, and for each the first line of another text that is near to it."""

    def __init__(self, texts: Sequence[str]) -> None:
        shingles = [shingles_of(text) for text in texts]
        self.sizes = list(map(len, shingles))
        self.places: dict[str, list[int]] = defaultdict(list)
        self.near: dict[int, int] = {}
        for place, own in enumerate(shingles):
            for shingle in own:
                self.places[shingle].append(place)

    def look_at(self, text: str, line: int) -> None:
        """Another text, of that line: the sentences of which it has nearly all, and little else, are near."""
        own = shingles_of(text)
        shared = Counter(place for shingle in own for place in self.places.get(shingle, ()))
        for place, count in shared.items():
            if count >= NEAR * max(len(own), self.sizes[place]):
                self.near.setdefault(place, line)


def shingles_of(text: str) -> set[str]:
    """Its runs of three words; of a shorter sentence the whole."""
    words = plain(text).split()
    firsts = range(max(1, len(words) - SHINGLE + 1)) if words else ()
    return {" ".join(words[first : first + SHINGLE]) for first in firsts}
