"""Student's t, F and chi-squared: the values of printed tables, and scipy's."""

import math

import pytest

from openwork.metrics.distributions import (
    beta_below,
    chi2_below,
    f_below,
    f_quantile,
    gamma_below,
    t_quantile,
    t_two_sided,
)

FREEDOMS = (1.0, 1.3, 2.0, 3.7, 10.0, 57.3, 999.0)


def test_values_of_printed_tables():
    """To the digits of the tables in Abramowitz and Stegun, 26.8 to 26.10."""
    assert [round(t_quantile(0.975, freedom), 3) for freedom in (1, 2, 4, 10, 30)] == [
        12.706,
        4.303,
        2.776,
        2.228,
        2.042,
    ]
    assert [round(f_quantile(0.95, *freedoms), 2) for freedoms in ((1, 1), (3, 10), (10, 3))] == [161.45, 3.71, 8.79]
    assert round(10 * f_quantile(0.95, 10, math.inf), 3) == 18.307  # chi-squared
    assert t_quantile(0.975, 1e9) == pytest.approx(1.959964, abs=1e-6)


def test_what_can_be_worked_by_hand():
    """I_x(1, 1) = x, P(1, x) = 1 - e^-x; t with one degree of freedom is Cauchy's, F with two and two x / (1 + x)."""
    assert beta_below(0.3, 1, 1) == pytest.approx(0.3)
    assert (beta_below(0, 2, 3), beta_below(1, 2, 3)) == (0, 1)
    assert gamma_below(1, 0.7) == pytest.approx(1 - math.exp(-0.7)) == chi2_below(1.4, 2)
    assert gamma_below(1, 7) == pytest.approx(1 - math.exp(-7))
    assert t_two_sided(1, 1) == pytest.approx(0.5)
    assert (t_two_sided(0, 3), t_two_sided(math.inf, 3)) == (1, 0)
    assert f_below(3, 2, 2) == pytest.approx(0.75)
    assert f_quantile(0.75, 2, 2) == pytest.approx(3)
    assert (f_below(0, math.inf, 3), chi2_below(0, 2)) == (0, 0)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_a_quantile_and_its_probability(freedom: float):
    for probability in (0.001, 0.2, 0.5, 0.9, 0.999):
        value = t_quantile(probability, freedom)
        assert t_two_sided(value, freedom) == pytest.approx(2 * min(probability, 1 - probability))
        assert f_below(f_quantile(probability, freedom, 5), freedom, 5) == pytest.approx(probability)


@pytest.mark.parametrize("freedom", [*FREEDOMS, 1e5])
def test_scipy_has_the_same(freedom: float):
    stats = pytest.importorskip("scipy.stats")
    for value in (0.1, 1.0, 3.0, 8.0):
        assert t_two_sided(value, freedom) == pytest.approx(2 * stats.t.sf(value, freedom), rel=1e-9)
    for probability in (0.001, 0.025, 0.3, 0.975, 0.9999):
        assert t_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-7)
        for other in (1.0, 5.5, 5000.0):
            expected = stats.f.ppf(probability, freedom, other)
            assert f_quantile(probability, freedom, other) == pytest.approx(expected, rel=1e-7)
        chi2 = stats.chi2.ppf(probability, freedom)
        assert f_quantile(probability, freedom, math.inf) == pytest.approx(chi2 / freedom, rel=1e-7)
        other_side = freedom / stats.chi2.ppf(1 - probability, freedom)
        assert f_quantile(probability, math.inf, freedom) == pytest.approx(other_side, rel=1e-7)
