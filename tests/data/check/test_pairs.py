"""Sides that do not translate each other, on an invented language and on real captions with planted noise."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from openwork.data.check import pairs as module
from openwork.data.check.faults import Gathered
from openwork.data.check.pairs import APART, LEAST_PAIRS, pair_faults
from openwork.data.check.repeats import LEAK, TWICE, leaks, repeats
from openwork.data.check.text import DAMAGED, text_faults
from openwork.data.corpora import catalogue as corpora
from openwork.data.records import Pair


def shuffled(pairs: list[Pair], places: list[int]) -> list[Pair]:
    """The targets of these places moved on by one place among them."""
    found = list(pairs)
    for place, other in zip(places, [*places[1:], places[0]], strict=True):
        found[place] = Pair(pairs[place].source, pairs[other].target)
    return found


def f1(found: set[int], planted: set[int]) -> float:
    return 2 * len(found & planted) / (len(found) + len(planted))


@pytest.mark.slow
@pytest.mark.parametrize("teachers", [50_000, 700])
def test_an_invented_language(monkeypatch: pytest.MonkeyPatch, teachers: int) -> None:
    """Where there are more pairs than may teach, the others are judged by those that do."""
    monkeypatch.setattr(module, "MOST_TEACHERS", teachers)
    generator = random.Random(1)
    words = [f"w{number}" for number in range(200)]
    sentences = [generator.sample(words, 6) for _ in range(LEAST_PAIRS)]
    pairs = [Pair(" ".join(one), " ".join(f"{word}x" for word in reversed(one))) for one in sentences]
    assert list(pair_faults(pairs)) == []
    places = generator.sample(range(len(pairs)), 100)
    found = {fault.line - 1 for fault in pair_faults(shuffled(pairs, places))}
    assert f1(found, set(places)) > 0.98
    assert list(pair_faults(pairs[:100])) == []  # too little to learn from


@pytest.mark.slow
def test_captions_with_planted_noise(openwork_data: Callable[[str], Path]) -> None:
    openwork_data("multi30k")
    pairs, test = list(corpora.load("multi30k-en-de", "train")), list(corpora.load("multi30k-en-de", "test"))
    generator = random.Random(2)
    places = generator.sample(range(len(pairs)), 4000)
    swapped, damaged, copied, leaked = places[:1450], places[1450:2450], places[2450:3450], places[3450:]
    noisy = shuffled(pairs, swapped)
    for place in damaged:
        source, target = noisy[place]
        noisy[place] = Pair(source, f"{target.rstrip('.')} für Männer.".encode().decode("latin-1"))
    for place in leaked:
        noisy[place] = generator.choice(test)
    copies = [noisy[place] for place in copied]
    noisy += copies
    gathered = Gathered(len(noisy))
    for line, pair in enumerate(noisy, start=1):
        gathered.add(text_faults(pair, line))
    gathered.add(repeats(noisy))
    assert {place + 1 for place in damaged} <= set(gathered.lines[DAMAGED])  # recall 1.0
    assert set(range(len(pairs) + 1, len(noisy) + 1)) <= set(gathered.lines[TWICE])
    sources = {noisy[place] for place in leaked}
    found = {test[fault.line - 1] for fault in leaks(test, noisy) if fault.kind == LEAK}
    assert found >= sources
    apart = {fault.line - 1 for fault in pair_faults(noisy) if fault.kind == APART and fault.line <= len(pairs)}
    assert f1(apart, set(swapped)) >= 0.8
