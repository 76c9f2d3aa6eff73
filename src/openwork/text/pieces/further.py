"""Learning more byte-pair merges on top of those that are there, by the rule of the `tokenizers` library's trainer."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from openwork.text.pieces.alphabet import LONGEST_PIECE

Pair = tuple[int, int]


class _Corpus:
    """The distinct words as rows of ids, and how often each pair of neighbours occurs in all of them."""

    def __init__(self, words: Mapping[tuple[int, ...], int], lengths: list[int]) -> None:
        self.rows = [list(word) for word in words]
        self.counts = list(words.values())
        self.lengths = lengths  # of each piece, in characters
        self.pairs: Counter[Pair] = Counter()
        self.rows_of: dict[Pair, set[int]] = {}
        for place, row in enumerate(self.rows):
            for pair in pairwise(row):
                self._count(pair, place, 1)

    def _count(self, pair: Pair, place: int, sign: int) -> None:
        if sum(self.lengths[number] for number in pair) < LONGEST_PIECE or all(self.lengths[n] == 1 for n in pair):
            self.pairs[pair] += sign * self.counts[place]
            if sign > 0:
                self.rows_of.setdefault(pair, set()).add(place)

    def merge(self, pair: Pair, number: int) -> set[Pair]:
        """Puts piece `number` wherever the pair stands; gives the pairs that have become more frequent."""
        risen: set[Pair] = set()
        for place in self.rows_of.pop(pair, ()):
            row, merged, index = self.rows[place], [], 0
            while index < len(row):
                if tuple(row[index : index + 2]) == pair:
                    merged.append(number)
                    index += 2
                else:
                    merged.append(row[index])
                    index += 1
            for old in pairwise(row):
                self._count(old, place, -1)
            for new in pairwise(merged):
                self._count(new, place, 1)
                if number in new:
                    risen.add(new)
            self.rows[place] = merged
        del self.pairs[pair]
        return risen


def further_merges(
    words: Mapping[tuple[str, ...], int], vocabulary: Mapping[str, int], size: int, minimum_frequency: int
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary with up to `size` pieces, and the merges that make the new ones, in order.

    `words` are the distinct words in the pieces that they have now, with their counts. The commonest pair is merged
    first; of equally common ones that with the lower ids. A pair must occur `minimum_frequency` times.
    """
    pieces, merges = dict(vocabulary), []
    names = sorted(vocabulary, key=lambda name: vocabulary[name])
    ids: Iterable[tuple[tuple[int, ...], int]] = (
        (tuple(vocabulary[name] for name in word), count) for word, count in words.items()
    )
    corpus = _Corpus(dict(ids), [len(name) for name in names])
    waiting = [(-count, pair) for pair, count in corpus.pairs.items()]
    heapq.heapify(waiting)
    while waiting and len(pieces) < size:
        count, pair = heapq.heappop(waiting)
        if -count != corpus.pairs.get(pair, 0):  # it has become rarer since; a pair that rises is put in anew
            if corpus.pairs.get(pair, 0) > 0:
                heapq.heappush(waiting, (-corpus.pairs[pair], pair))
            continue
        if -count < max(1, minimum_frequency):
            break
        left, right = names[pair[0]], names[pair[1]]
        merges.append((left, right))
        number = pieces.setdefault(left + right, len(pieces))
        if number == len(names):
            names.append(left + right)
            corpus.lengths.append(len(left + right))
        for risen in corpus.merge(pair, number):
            heapq.heappush(waiting, (-corpus.pairs[risen], risen))
    return pieces, merges
