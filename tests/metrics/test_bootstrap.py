"""Intervals by the bootstrap: as wide as the standard error of the whole set says, and the same for the same seed."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from openwork.evaluation.bits import Bits
from openwork.metrics.significance import Effort, compare_statistic, interval
from openwork.metrics.translation import bleu

COUNT = 400
VALUES = np.random.default_rng(5).normal(3.0, 1.0, COUNT)
# 95 % of the means of as many values lie within 1.96 standard errors to each side. Half as many draws would make an
# interval wider by the root of two.
WIDTH = 2 * 1.96 * VALUES.std() / math.sqrt(COUNT)


def test_a_mean_of_as_many_examples_as_there_are() -> None:
    low, high = interval(lambda rows: float(VALUES[rows].mean()), COUNT)
    assert high - low == pytest.approx(WIDTH, rel=0.1)
    assert low < VALUES.mean() < high


def test_bits_are_drawn_by_as_many_lines_as_there_are() -> None:
    """Lines of 10 characters: the bits of a character have a tenth of the lines' spread."""
    found = Bits({"model": VALUES, "other": VALUES + 1}, np.full(COUNT, 10)).figures()
    assert found["model"].high - found["model"].low == pytest.approx(WIDTH / 10, rel=0.1)
    assert found["model"].value == pytest.approx(VALUES.mean() / 10)
    # both models meet the same lines in each drawing: what differs by 1 everywhere differs by 0.1 in every drawing
    difference = found["model - other"]
    assert (difference.low, difference.high) == (pytest.approx(-0.1), pytest.approx(-0.1))


def test_two_systems_are_drawn_by_as_many_examples_as_there_are() -> None:
    shares = np.concatenate([VALUES, VALUES[::-1]]) / 10

    def mean(rows: NDArray[np.intp]) -> float:
        return float(shares[rows].mean())

    found = compare_statistic("mean", mean, COUNT, Effort(resamples=1000, trials=10))
    assert found.first.high - found.first.low == pytest.approx(10 * WIDTH, rel=0.1)  # in hundredths of a tenth


def test_sentences_of_a_text_are_drawn_by_as_many_as_there_are() -> None:
    """Sentences of ten words are all right or all wrong: BLEU's spread is near that of the share of right ones."""
    right = np.random.default_rng(1).random(COUNT) < 0.5
    references = [" ".join(f"w{line}x{place}" for place in range(10)) for line in range(COUNT)]
    hypotheses = [text if good else text.upper() + "q" for text, good in zip(references, right, strict=True)]
    found = bleu(hypotheses, references, bootstrap=1000)
    assert found.low is not None and found.high is not None
    expected = 100 * 2 * 1.96 * math.sqrt(right.mean() * (1 - right.mean()) / COUNT)
    assert found.high - found.low == pytest.approx(expected, rel=0.15)
