"""Student's t and F: values of printed tables, what can be worked by hand, and a clear sentence without scipy."""

import math
import sys

import pytest

from openwork.base.errors import ConfigError
from openwork.metrics.distributions import f_quantile, t_quantile, t_two_sided


def test_values_of_printed_tables():
    """To the digits of the tables in Abramowitz and Stegun, 26.8 to 26.10."""
    pytest.importorskip("scipy", reason="the extra experiments is not installed")
    quantiles = [round(t_quantile(0.975, freedom), 3) for freedom in (1, 2, 4, 10, 30)]
    assert quantiles == [12.706, 4.303, 2.776, 2.228, 2.042]
    assert [round(f_quantile(0.95, *freedoms), 2) for freedoms in ((1, 1), (3, 10), (10, 3))] == [161.45, 3.71, 8.79]
    assert round(10 * f_quantile(0.95, 10, math.inf), 3) == 18.307  # chi-squared
    assert t_quantile(0.975, math.inf) == pytest.approx(1.959964, abs=1e-6)


def test_what_can_be_worked_by_hand():
    """t with one degree of freedom is Cauchy's, F with two and two x / (1 + x), chi-squared with two exponential."""
    pytest.importorskip("scipy", reason="the extra experiments is not installed")
    assert t_two_sided(1, 1) == t_two_sided(-1, 1) == pytest.approx(0.5)
    assert (t_two_sided(0, 3), t_two_sided(math.inf, 3)) == (1, 0)
    assert t_two_sided(1.5, math.inf) == pytest.approx(math.erfc(1.5 / math.sqrt(2)))
    assert t_quantile(0.25, 1) == pytest.approx(-1)
    assert f_quantile(0.75, 2, 2) == pytest.approx(3)
    assert f_quantile(0.3, 2, math.inf) == pytest.approx(-math.log(0.7))


def test_without_scipy_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ConfigError, match="need scipy, which is not installed"):
        t_two_sided(1.0, 3)
