"""The n-gram model by the formula, one probability at a time, and by hand."""

import math
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from openwork.metrics.kneser_ney import FALLBACK, KneserNey, discounts_of

WORDS, END = 6, "end"
Gram = tuple[object, ...]


class ByTheFormula:
    """Chen and Goodman's equations as they stand, over tuples; `start` is never predicted."""

    def __init__(self, lines: list[list[int]], outcomes: int, order: int) -> None:
        self.order, self.outcomes = order, outcomes
        rows: list[Gram] = [("start", *line, END) for line in lines]
        raw = [
            Counter(row[at : at + size] for row in rows for at in range(len(row) - size + 1))
            for size in range(1, order + 1)
        ]
        self.counts: list[dict[Gram, int]] = []
        for size in range(1, order + 1):
            if size == order:
                self.counts.append(dict(raw[-1]))
                continue
            before = Counter(gram[1:] for gram in raw[size])
            self.counts.append(
                {gram: count if gram[0] == "start" else before[gram] for gram, count in raw[size - 1].items()}
            )
        self.counts[0].pop(("start",))
        self.discounts = [discounts_of(np.array(list(found.values()))) for found in self.counts]
        self.probability = lru_cache(None)(self._probability)

    def _probability(self, word: object, context: Gram) -> float:
        size = len(context) + 1
        shorter = self.probability(word, context[1:]) if context else 1 / self.outcomes
        found, discounts = self.counts[size - 1], self.discounts[size - 1]
        following = {gram: count for gram, count in found.items() if gram[:-1] == context}
        total = sum(following.values())
        if not total:
            return shorter
        count = found.get((*context, word), 0)
        own = max(count - discounts[min(count, 3) - 1], 0) if count else 0.0
        rest = sum(discounts[min(count, 3) - 1] for count in following.values())
        return own / total + rest / total * shorter

    def line(self, line: list[int]) -> float:
        row: Gram = ("start", *line, END)
        contexts = [row[max(0, place - self.order + 1) : place] for place in range(1, len(row))]
        return sum(math.log(self.probability(word, context)) for word, context in zip(row[1:], contexts, strict=True))


def some_lines(seed: int, count: int) -> list[list[int]]:
    """Words that lead to one another, the last of them never; some lines are empty."""
    generator = np.random.default_rng(seed)
    lines = []
    for length in generator.integers(0, 9, count).tolist():
        line = [int(generator.integers(WORDS - 1))]
        for _ in range(length):
            line.append(int((line[-1] + generator.integers(1, 3)) % (WORDS - 1)))
        lines.append(line if length else [])
    return lines


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_is_the_formula(order: int) -> None:
    lines = some_lines(0, 150)
    tested = [*some_lines(1, 20), [], [5, 0, 5], [0] * 12]
    found = KneserNey.learn(lines, WORDS, WORDS + 1, order)
    expected = ByTheFormula(lines, WORDS + 1, order)
    assert found.order == order
    np.testing.assert_allclose(found.log_probabilities(tested), [expected.line(line) for line in tested], rtol=1e-10)


@pytest.mark.parametrize("context", [[], [0], [0, 1, 2, 3], [5], [4, 4, 4, 4, 4]])
def test_probabilities_add_up_to_one(context: list[int]) -> None:
    """Of each next word; that of going on with it is the rest of the line's, which cancels."""
    found = KneserNey.learn(some_lines(0, 150), WORDS, WORDS + 1)
    ends = found.log_probabilities([context])[0]
    oracle = ByTheFormula(some_lines(0, 150), WORDS + 1, 5)
    told = tuple(["start", *context][-4:])
    total = sum(oracle.probability(word, told) for word in [*range(WORDS), END])
    assert total == pytest.approx(1) and ends < 0


def test_two_lines_by_hand() -> None:
    """Bigrams of "0" and "0 1": start 0 twice, 0 end, 0 1 and 1 end once; discounts 0.5 and 1.

    The unigrams 0, 1 and end are told by what stands before them: one word, one and two; together 4.
    """
    found = KneserNey.learn([[0], [0, 1]], 2, 3, 2)
    zero, one, end = (1 - 0.5) / 4, (1 - 0.5) / 4, (2 - 1) / 4
    rest = (0.5 + 0.5 + 1) / 4 / 3
    zero, one, end = zero + rest, one + rest, end + rest
    begin = (2 - 1) / 2 + 1 / 2 * zero
    stop = (1 - 0.5) / 2 + 1 / 2 * end
    np.testing.assert_allclose(found.log_probabilities([[0]]), [math.log(begin * stop)])
    assert zero + one + end == pytest.approx(1)


def test_discounts_by_hand() -> None:
    # 8 once, 4 twice, 2 three times, 1 four times: Y = 8 / 16
    counts = np.array([1] * 8 + [2] * 4 + [3] * 2 + [4])
    assert discounts_of(counts) == (1 - 2 * 0.5 * 4 / 8, 2 - 3 * 0.5 * 2 / 4, 3 - 4 * 0.5 * 1 / 2)
    assert discounts_of(np.array([1, 1, 5])) == FALLBACK == (0.5, 1.0, 1.5)  # as KenLM's --discount_fallback has it


def test_a_longer_memory_helps_where_there_is_something_to_remember() -> None:
    lines, tested = some_lines(0, 400), some_lines(1, 50)
    told = [KneserNey.learn(lines, WORDS, WORDS + 1, order).log_probabilities(tested).sum() for order in (1, 2)]
    assert told[1] > told[0]
    assert len(KneserNey.learn(lines, WORDS, WORDS + 1).log_probabilities([])) == 0


def test_little_or_nothing_to_learn_from() -> None:
    short = KneserNey.learn([[0], [1]], WORDS, WORDS + 1)  # with start and end three words: no 5-gram is there
    assert short.order == 3
    np.testing.assert_allclose(
        short.log_probabilities([[0]]), KneserNey.learn([[0], [1]], WORDS, WORDS + 1, 3).log_probabilities([[0]])
    )
    nothing = KneserNey.learn([], WORDS, WORDS + 1)
    np.testing.assert_allclose(nothing.log_probabilities([[0, 1], []]), [-3 * math.log(7), -math.log(7)])
