"""IBM model 1 against an example worked by hand (the sentences are those of Koehn 2010), and against plain loops."""

from collections import defaultdict

import numpy as np
import pytest

from openwork.text import lexicon
from openwork.text.lexicon import Lexicon, learn_lexicon

THE, HOUSE, BOOK, A = range(4)
DAS, HAUS, BUCH, EIN = range(4)
PAIRS = [([THE, HOUSE], [DAS, HAUS]), ([THE, BOOK], [DAS, BUCH]), ([A, BOOK], [EIN, BUCH])]


def probability(found: Lexicon, source: int, target: int) -> float:
    (place,) = np.nonzero((found.sources == source) & (found.targets == target))[0]
    return float(found.probabilities[place])


@pytest.mark.parametrize(
    ("iterations", "das", "haus", "buch"),
    [
        (1, 1 / 2, 1 / 2, 1 / 2),
        (2, 7 / 11, 4 / 7, 7 / 11),
        (3, (49 / 82 + 7 / 9) / (49 / 82 + 7 / 9 + 7 / 29 + 2 / 9), (22 / 29) / (22 / 29 + 33 / 82), 0.7479),
    ],
)
def test_the_worked_example(iterations: int, das: float, haus: float, buch: float) -> None:
    found = learn_lexicon(PAIRS, iterations)
    assert probability(found, THE, DAS) == pytest.approx(das, abs=5e-5)
    assert probability(found, HOUSE, HAUS) == pytest.approx(haus, abs=5e-5)
    assert probability(found, BOOK, BUCH) == pytest.approx(buch, abs=5e-5)


def plainly(pairs: list[tuple[list[int], list[int]]], iterations: int) -> dict[tuple[int, int], float]:
    believed: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for source, target in pairs:
            for t in target:
                whole = sum(believed[s, t] for s in source)
                for s in source:
                    counts[s, t] += believed[s, t] / whole
        totals: dict[int, float] = defaultdict(float)
        for (s, _), count in counts.items():
            totals[s] += count
        believed = defaultdict(float, {(s, t): count / totals[s] for (s, t), count in counts.items()})
    return believed


def test_it_is_what_plain_loops_find() -> None:
    random = np.random.default_rng(1)
    pairs = [
        (random.integers(0, 9, random.integers(1, 6)).tolist(), random.integers(0, 7, random.integers(1, 6)).tolist())
        for _ in range(30)
    ]
    found, expected = learn_lexicon(pairs, 4), plainly(pairs, 4)
    assert len(found.probabilities) == len(expected)
    for source, target, value in zip(found.sources, found.targets, found.probabilities, strict=True):
        assert value == pytest.approx(expected[int(source), int(target)])


def test_the_best_come_first_and_equals_by_their_ids() -> None:
    found = Lexicon(np.array([0, 0, 0, 2]), np.array([1, 4, 5, 3]), np.array([0.2, 0.4, 0.4, 1.0]))
    assert found.best(4, 2).tolist() == [[4, 5], [-1, -1], [3, -1], [-1, -1]]


def test_nothing_teaches_nothing_and_much_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert learn_lexicon([]).best(3, 2).tolist() == [[-1, -1]] * 3
    assert learn_lexicon([([], [1]), ([2], [])]).sources.tolist() == []
    monkeypatch.setattr(lexicon, "MOST_LINKS", 5)  # two pairs of four links: the third is not looked at
    assert A not in learn_lexicon(PAIRS).sources
