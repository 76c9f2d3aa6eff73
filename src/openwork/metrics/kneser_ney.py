"""An interpolated n-gram model with modified Kneser-Ney smoothing: what a language model must be better than.

    p(w | h) = max(c(h w) - D(c(h w)), 0) / c(h) + gamma(h) p(w | h')

where h' is h without its first word, and the unigrams back off to the uniform distribution (Chen and Goodman 1999,
equations 26 to 28). The longest n-grams, and those that begin a line, are counted as they occur; all shorter ones by
how many different words precede them. D has one value for a count of one, of two, and of three or more; they follow
from the counts, so nothing is tuned.

All operations work on whole arrays: an n-gram is a number, found by the number of its beginning (the n-gram without its
last word) and its last word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
FALLBACK = (0.5, 1.0, 1.5)  # discounts where a corpus is too small to estimate them
UNSEEN = -1


@dataclass(frozen=True)
class _Grams:
    """The n-grams of one length: `keys` (grams) in ascending order.

    `counts` (grams): adjusted and discounted. `totals`, `rests` (beginnings): c(h), and gamma(h) c(h).
    """

    keys: Numbers
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    rests: NDArray[np.float64]

    def numbers(self, keys: Numbers) -> Numbers:
        """The number of each n-gram; UNSEEN for those that are not there."""
        if not len(self.keys):
            return np.full(len(keys), UNSEEN)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, UNSEEN)


class KneserNey:
    """An n-gram model over words, each a number from 0 to before `words`; a line's end is a word of its own.

    `outcomes`: how many words are possible at any place, the end included; each has some probability everywhere.
    """

    def __init__(self, grams: Sequence[_Grams], words: int, outcomes: int) -> None:
        self._grams = grams
        self._words = words
        self._outcomes = outcomes

    @property
    def order(self) -> int:
        """n: the words of the longest n-grams."""
        return len(self._grams)

    @classmethod
    def learn(cls, lines: Iterable[Sequence[int]], words: int, outcomes: int, order: int = 5) -> "KneserNey":
        """From all lines at once; about 100 bytes of memory for each word of them and each length of n-grams."""
        row, places = _one_row(lines, words)
        beginnings, found = np.zeros(len(row), np.int64), []
        for length in range(1, order + 1):
            inside = places >= length - 1  # the others would reach into the line before
            if not inside.any():
                break  # no line is as long
            keys = beginnings * (words + 2) + row
            unique, first, own, raw = np.unique(
                keys[inside], return_index=True, return_inverse=True, return_counts=True
            )
            numbers = np.full(len(row), UNSEEN)
            numbers[inside] = own
            if found:  # the n-grams that these are without their first word
                shorter, ends = found[-1], np.flatnonzero(inside)[first]
                shorter["before"] = np.bincount(shorter["numbers"][ends], minlength=len(shorter["keys"]))
            begins = places[np.flatnonzero(inside)[first]] == length - 1
            found.append({"keys": unique, "raw": raw, "begins": begins, "numbers": numbers})
            beginnings = np.concatenate(([0], numbers[:-1]))  # of the next position
        grams = []
        for length, one in enumerate(found, start=1):
            counts = one["raw"] if length == len(found) else np.where(one["begins"], one["raw"], one["before"])
            if length == 1:
                counts = np.where(one["keys"] == words + 1, 0, counts)  # no line holds it
            grams.append(_smoothed(one["keys"], counts, one["keys"] // (words + 2)))
        return cls(grams, words, outcomes)

    def log_probabilities(self, lines: Iterable[Sequence[int]]) -> NDArray[np.float64]:
        """Nats of each line, its end included."""
        row, places = _one_row(lines, self._words)
        predicted = np.full(len(row), 1 / self._outcomes)
        beginnings = np.zeros(len(row), np.int64)
        for length, grams in enumerate(self._grams, start=1):
            known = (places >= length - 1) & (beginnings != UNSEEN) & (beginnings < len(grams.totals))
            at = np.where(known, beginnings, 0)
            known &= grams.totals[at] > 0
            numbers = grams.numbers(at * (self._words + 2) + row)
            numbers[~known] = UNSEEN
            own = np.where(numbers == UNSEEN, 0.0, grams.counts[numbers])
            totals = np.where(known, grams.totals[at], 1.0)
            predicted = np.where(known, (own + grams.rests[at] * predicted) / totals, predicted)
            beginnings = np.concatenate(([UNSEEN], numbers[:-1]))
        logs = np.where(places == 0, 0.0, np.log(predicted))  # the start is given
        return np.add.reduceat(logs, np.flatnonzero(places == 0)) if len(row) else np.zeros(0)


def _one_row(lines: Iterable[Sequence[int]], words: int) -> tuple[Numbers, Numbers]:
    """All lines in one row, each between start (words + 1) and end (words), and each word's place in its line."""
    parts = [np.asarray([words + 1, *line, words], np.int64) for line in lines]
    sizes = np.array([len(part) for part in parts], np.int64)
    row = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _smoothed(keys: Numbers, counts: Numbers, beginnings: Numbers) -> _Grams:
    discounts = np.array([0.0, *discounts_of(counts)])[np.minimum(counts, 3)]
    size = int(beginnings.max(initial=0)) + 1
    totals, rests = (np.bincount(beginnings, one, size).astype(np.float64) for one in (counts, discounts))
    return _Grams(keys, counts.astype(np.float64) - discounts, totals, rests)


def discounts_of(counts: Numbers) -> tuple[float, float, float]:
    """The discounts of counts of one, of two, and of three and more.

    With n_i n-grams that occur i times and Y = n_1 / (n_1 + 2 n_2): i - (i + 1) Y n_(i+1) / n_i (equation 26).
    """
    ones, twos, threes, fours = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if not (ones and twos and threes):
        return FALLBACK
    share = ones / (ones + 2 * twos)
    found = 1 - 2 * share * twos / ones, 2 - 3 * share * threes / twos, 3 - 4 * share * fours / threes
    within = (0 <= amount <= count for amount, count in zip(found, (1, 2, 3), strict=True))
    return found if all(within) else FALLBACK
