"""Means over seeds, contrasts, Holm's correction and ties, worked by hand."""

import math

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.metrics.distributions import t_quantile
from openwork.metrics.estimates import (
    Estimate,
    compare_all,
    contrast,
    corrected,
    difference_over_seeds,
    holm,
    mean_over_seeds,
    mean_with_interval,
    tied_with,
)

pytest.importorskip("scipy", reason="the extra experiments is not installed")


def test_a_mean_over_seeds_by_hand():
    """1, 2, 3: mean 2, s = 1, error 1 / sqrt(3), two degrees of freedom: 2 -+ 4.3027 * 0.57735."""
    found = mean_over_seeds([1, 2, 3])
    assert (found.value, found.error, found.freedom) == (2, pytest.approx(1 / math.sqrt(3)), pytest.approx(2))
    assert (found.low, found.high) == (pytest.approx(2 - 2.484138), pytest.approx(2 + 2.484138))
    assert mean_with_interval([1, 2, 3]) == (2, (found.low, found.high)) and mean_with_interval([5]) == (5, None)


def test_welchs_test_by_hand():
    """Means 2 and 5, s^2 1 and 4, three seeds each: error^2 5/3, df (5/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 50/17."""
    found = difference_over_seeds([1, 2, 3], [3, 5, 7])
    assert found.value == 3
    assert found.error == pytest.approx(math.sqrt(5 / 3))
    assert found.freedom == pytest.approx(50 / 17)
    assert 0.1 < found.p < 0.15  # t = 2.32, whose p is 0.102 with three degrees of freedom and 0.146 with two


@pytest.mark.slow
def test_welchs_test_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(3)
    for counts in ((2, 2), (3, 5), (8, 3)):
        one, other = (random.normal(size=count) for count in counts)
        assert difference_over_seeds(one, other).p == pytest.approx(stats.ttest_ind(other, one, equal_var=False).pvalue)


def test_the_interaction_of_four_cells_by_hand():
    """(c - b) - (d - a) of the means 1, 4, 9, 3: 5 - 2 = 3. Each cell has s^2 = 2 and two seeds: error^2 = 4 * 1."""
    cells = [(1.0, [0, 2]), (-1.0, [3, 5]), (1.0, [8, 10]), (-1.0, [2, 4])]
    found = contrast(cells)
    assert (found.value, found.error, found.freedom) == (3, pytest.approx(2), pytest.approx(4))


def test_nothing_that_varies_is_not_tested():
    found = difference_over_seeds([1, 1], [3, 3])
    assert (found.value, found.low, found.high) == (2, 2, 2) and math.isnan(found.p)


def test_one_seed_is_refused():
    with pytest.raises(DataError, match=r"a method with 1 seed\(s\) cannot be tested"):
        mean_over_seeds([1.0])


def test_holms_correction_by_hand():
    """0.01 * 3, then 0.02 * 2 = 0.04, then 0.045 * 1, none below the one before; in the order in which they came."""
    assert holm([0.045, 0.01, 0.02]) == pytest.approx([0.045, 0.03, 0.04])
    assert holm([0.01, 0.015, 0.02]) == pytest.approx([0.03, 0.03, 0.03])
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([]) == []
    missing = holm([math.nan, 0.01, 0.03])
    assert math.isnan(missing[0]) and missing[1:] == pytest.approx([0.02, 0.03])


def test_what_the_correction_takes_away():
    """p = 0.04 and 0.03 alone are below 5 %, as two of a family they are not; 0.001 is."""
    tests = {("a", "b"): _with_p(0.04), ("a", "c"): _with_p(0.03), ("b", "c"): _with_p(0.001)}
    assert [one.is_shown for one in corrected(tests)] == [False, False, True]
    assert [one.lost_by_correction for one in corrected(tests)] == [True, True, False]


def test_ties_are_those_that_no_comparison_tells_from_the_best():
    scores = {"best": [30.0, 30.2, 30.1], "near": [30.0, 30.1, 29.8], "worse": [20.0, 20.1, 20.2]}
    comparisons = compare_all(scores)
    assert [(one.first, one.second) for one in comparisons] == [("best", "near"), ("best", "worse"), ("near", "worse")]
    assert tied_with("best", scores, comparisons) == {"best", "near"}
    assert tied_with("worse", scores, comparisons) == {"worse"}


def _with_p(p: float) -> Estimate:
    return Estimate(t_quantile(1 - p / 2, 10), 1.0, 10)
