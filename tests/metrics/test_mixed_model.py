"""The analysis of variance of seeds and sentences, worked by hand on two seeds and three sentences."""

import math

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.metrics.estimates import difference_over_seeds
from openwork.metrics.mixed_model import difference_on_sentences, take_apart

pytest.importorskip("scipy", reason="the extra experiments is not installed")

# Rows have the means 2 and 4, columns 1.5, 3 and 4.5; what is left is 0.5, 0, -0.5 and its opposite.
TABLE = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
# Rows 3 and 5, columns 3, 4 and 5; what is left is 0, -1, 1 and its opposite.
OTHER = np.array([[2.0, 2.0, 5.0], [4.0, 6.0, 5.0]])


def test_mean_squares_and_variances_by_hand():
    """Seeds 3 (1 + 1) / 1 = 6, sentences 2 (2.25 + 2.25) / 2 = 4.5, interaction 4 (0.25) / 2 = 0.5."""
    found = take_apart(TABLE)
    assert found.mean == 3
    assert found.seeds == pytest.approx((6, 1))
    assert found.sentences == pytest.approx((4.5, 2))
    assert found.interaction == pytest.approx((0.5, 2))
    parts = found.components
    variances = (parts.seeds.variance, parts.sentences.variance, parts.interaction.variance)
    assert variances == pytest.approx((5.5 / 3, 4 / 2, 0.5))
    assert parts.shares == pytest.approx((11 / 26, 12 / 26, 3 / 26))


def test_restricted_maximum_likelihood_gives_the_same():
    """Two ways, one answer: in a balanced design, where no estimate is negative (Searle et al. 1992, 4.8)."""
    optimize = pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(4)
    scores = 2 * random.normal(size=(4, 1)) + 3 * random.normal(size=6) + random.normal(size=(4, 6))
    ones, identity = (lambda count: np.ones((count, count))), np.eye

    def unlikelihood(logarithms: np.ndarray) -> float:
        seeds, sentences, both = np.exp(logarithms)
        covariance = seeds * np.kron(identity(4), ones(6)) + sentences * np.kron(ones(4), identity(6))
        inverse = np.linalg.inv(covariance + both * identity(24))
        weight = inverse.sum()
        rest = scores.ravel() - inverse.sum(axis=0) @ scores.ravel() / weight
        return -np.linalg.slogdet(inverse)[1] + math.log(weight) + rest @ inverse @ rest

    found = np.exp(optimize.minimize(unlikelihood, np.zeros(3), method="BFGS").x)
    parts = take_apart(scores).components
    assert found == pytest.approx(
        [part.variance for part in (parts.seeds, parts.sentences, parts.interaction)], rel=1e-3
    )


def test_the_intervals_by_hand():
    """Of the interaction, with two degrees of freedom: chi-squared is exponential, so the bounds are logarithms."""
    parts = take_apart(TABLE).components
    assert parts.interaction.low == pytest.approx(2 * 0.5 / (-2 * math.log(0.025)))
    assert parts.interaction.high == pytest.approx(2 * 0.5 / (-2 * math.log(0.975)))
    for part in (parts.seeds, parts.sentences):
        assert 0 <= part.low < part.variance < part.high
    # Without an interaction the seeds' variance has the bounds of any variance: 6 / 3 with one degree of freedom.
    alone = take_apart(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])).components
    assert alone.interaction.variance == 0 and alone.seeds.variance == pytest.approx(2)
    assert alone.seeds.low == pytest.approx(2 / 5.023886) and alone.seeds.high == pytest.approx(2 / 0.000982069)


def test_a_negative_estimate_is_shown_as_zero():
    parts = take_apart(np.array([[1.0, 2.0], [2.0, 1.0]])).components
    assert (parts.seeds.variance, parts.seeds.low, parts.sentences.variance) == (0, 0, 0)
    assert parts.shares == (0, 0, 1)


def test_where_nothing_varies_there_are_no_shares():
    assert all(map(math.isnan, take_apart(np.ones((2, 3))).components.shares))


def test_a_difference_by_hand():
    """Means 3 and 4. Sentences: differences 1.5, 1, 0.5, variance 0.25, / 3. Seeds: (6 - 0.5) / 6 and (6 - 2) / 6."""
    found = difference_on_sentences(TABLE, OTHER)
    assert found.value == 1
    assert found.error**2 == pytest.approx(0.25 / 3 + 5.5 / 6 + 4 / 6)
    parts = (0.25 / 3) ** 2 / 2, 1 / 1, (0.5 / 6) ** 2 / 2, 1 / 1, (2 / 6) ** 2 / 2
    assert found.freedom == pytest.approx(found.error**4 / sum(parts))
    assert difference_on_sentences(OTHER, TABLE).value == -1


def test_without_differences_between_sentences_it_is_welchs_test():
    """Every sentence of a seed has the same score: two ways, one answer."""
    one, other = (np.repeat(np.array([seeds]).T, 4, axis=1) for seeds in ([1.0, 2.0, 3.0], [3.0, 5.0, 7.0]))
    found, welch = difference_on_sentences(one, other), difference_over_seeds([1, 2, 3], [3, 5, 7])
    assert (found.value, found.error, found.freedom) == pytest.approx((welch.value, welch.error, welch.freedom))


def test_a_spread_of_seeds_below_the_interaction_counts_as_none():
    """Two seeds with the same mean: the squared error is that of the differences of sentences alone."""
    one, other = np.array([[1.0, 3.0, 5.0], [5.0, 3.0, 1.0]]), np.array([[2.0, 4.0, 9.0], [9.0, 4.0, 2.0]])
    found = difference_on_sentences(one, other)
    assert found.error**2 == pytest.approx(np.var([2.5, 1.0, 2.5], ddof=1) / 3) and found.freedom == pytest.approx(2)


def test_what_cannot_be_taken_apart_is_refused():
    with pytest.raises(DataError, match=r"a method with 1 seed\(s\)"):
        take_apart(TABLE[:1])
    with pytest.raises(DataError, match=r"the scores of 1 sentence\(s\) cannot be taken apart"):
        take_apart(TABLE[:, :1])
    with pytest.raises(DataError, match="cannot be taken apart"):
        take_apart(np.array([[1.0, np.nan], [1.0, 2.0]]))
    with pytest.raises(DataError, match="scores of 3 sentences cannot be compared with scores of 2"):
        difference_on_sentences(TABLE, OTHER[:, :2])
