"""Byte-pair merges of one word: the pair of the lowest rank first, until no pair of neighbours is in the table.

Sennrich, Haddow and Birch (2016), section 3.2; with dropout Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and
Effective Subword Regularization" (2020), algorithm 1.
"""

import heapq
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from openwork.text.work import Merge, SamplingAlgorithm, WordWork, byte_names

_WORDS_REMEMBERED = 50_000


class Merging(SamplingAlgorithm):
    """The merges of a vocabulary."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        """From a BPE model as the `tokenizers` library writes it."""
        self.vocabulary: Mapping[str, int] = model["vocab"]
        self.prefix: str = model.get("continuing_subword_prefix") or ""
        self.suffix: str = model.get("end_of_word_suffix") or ""
        self.unknown: str | None = model.get("unk_token")
        self.byte_fallback: bool = bool(model.get("byte_fallback"))
        self.fuse_unknown: bool = bool(model.get("fuse_unk"))
        self.whole_words_first: bool = bool(model.get("ignore_merges"))
        pairs = (merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"])
        self._certain: dict[str, WordWork] = {}
        self.ranks = {(left, right): rank for rank, (left, right) in enumerate(pairs)}

    def work(self, word: str) -> WordWork:
        """The merges in the order in which they are made."""
        start = self._start(word)
        if self.whole_words_first and word in self.vocabulary:
            return WordWork(word, (word,), (), (word,))
        steps: list[Merge] = []
        pieces = self._merged(start, lambda: False, steps.append)
        return WordWork(word, tuple(start), tuple(steps), tuple(pieces))

    def sample(self, word: str, random: Random, strength: float) -> list[str]:
        """BPE-dropout: before each merge, every possible merge is left out with probability `strength`."""
        if word not in self._certain and len(self._certain) < _WORDS_REMEMBERED:
            self._certain[word] = self.work(word)
        certain = self._certain.get(word) or self.work(word)
        # As long as nothing is dropped, the merges are the certain ones: mostly these draws are all there is to do.
        draws = [random.random() < strength for _ in certain.steps]
        if not any(draws):
            return list(certain.pieces)
        draws.reverse()
        start = list(certain.start)
        return self._merged(start, lambda: draws.pop() if draws else random.random() < strength, lambda merge: None)

    def _start(self, word: str) -> list[str]:
        """A piece a character; bytes, or the unknown symbol, for a character that has none."""
        pieces: list[str] = []
        for place, character in enumerate(word):
            piece = self.prefix * (place > 0) + character + self.suffix * (place == len(word) - 1)
            if piece in self.vocabulary:
                pieces.append(piece)
            elif self.byte_fallback and all(name in self.vocabulary for name in byte_names(piece)):
                pieces += byte_names(piece)
            elif self.unknown is not None and not (self.fuse_unknown and pieces[-1:] == [self.unknown]):
                pieces.append(self.unknown)
        return pieces

    def _rank(self, left: str, right: str) -> int | None:
        """When two neighbours are merged, lower first; None if never."""
        return self.ranks.get((left, right))

    def _merged(self, start: list[str], is_dropped: Callable[[], bool], record: Callable[[Merge], None]) -> list[str]:
        """The pieces when nothing is left to merge.

        Candidates are taken by rank and drawn one at a time until one is not dropped: which one that is has the same
        probability as when all are drawn first and the best survivor is taken, and costs less.
        """
        pieces: list[str | None] = list(start)
        before, after = list(range(-1, len(start) - 1)), list(range(1, len(start) + 1))
        waiting: list[tuple[int, int, str, str]] = []

        def consider(place: int) -> None:
            if place >= 0 and after[place] < len(pieces):
                left, right = pieces[place], pieces[after[place]]
                if left is not None and right is not None and (rank := self._rank(left, right)) is not None:
                    heapq.heappush(waiting, (rank, place, left, right))

        for place in range(len(start) - 1):
            consider(place)
        dropped: list[tuple[int, int, str, str]] = []
        while waiting:
            candidate = rank, place, left, right = heapq.heappop(waiting)
            neighbour = after[place]
            if pieces[place] != left or neighbour >= len(pieces) or pieces[neighbour] != right:
                continue  # one of the two has been merged meanwhile
            if is_dropped():
                dropped.append(candidate)
                continue
            record(Merge(rank, place, left, right))
            pieces[place], pieces[neighbour] = left + right[len(self.prefix) :], None
            after[place] = after[neighbour]
            if after[neighbour] < len(pieces):
                before[after[neighbour]] = place
            consider(before[place])
            consider(place)
            while dropped:  # for the next merge, all are drawn anew
                heapq.heappush(waiting, dropped.pop())
        return [piece for piece in pieces if piece is not None]
