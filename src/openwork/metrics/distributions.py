"""Student's t and F: probabilities and quantiles by scipy (the extra `experiments`), which is imported when needed."""

import math
from functools import cache
from typing import Any

from openwork.base.errors import ConfigError

_NORMAL_FROM = 1e8  # degrees of freedom


def t_two_sided(value: float, freedom: float) -> float:
    """The probability that |t| with `freedom` degrees of freedom is at least |value|: a two-sided p."""
    return float(2 * _special().stdtr(min(freedom, _NORMAL_FROM), -abs(value)))


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """The value that t with `freedom` degrees of freedom is below with this probability."""
    return float(_special().stdtrit(min(freedom, _NORMAL_FROM), probability))


@cache
def f_quantile(probability: float, first: float, second: float) -> float:
    """The value that F is below with this probability; the degrees of freedom of numerator and denominator.

    With an infinite denominator F is chi-squared over its degrees of freedom.
    """
    if math.isinf(second):
        return float(_special().chdtri(first, 1 - probability)) / first
    return float(_special().fdtri(first, second, probability))


def _special() -> Any:
    """scipy's special functions. ConfigError: scipy is not installed."""
    try:
        from scipy import special  # type: ignore[import-not-found]
    except ImportError:
        raise ConfigError(
            "intervals and tests of experiments need scipy, which is not installed",
            hint="pip install scipy (the extra experiments)",
            code="C144",
        ) from None
    return special
