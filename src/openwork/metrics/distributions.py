"""Student's t, F and chi-squared: probabilities and quantiles, from the incomplete beta and gamma functions.

scipy has all of them; it is large, and no statistic of a report shall need an extra. Tests hold these to scipy's.
Formulas: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 6.5 and 26.5; the continued fractions are
evaluated by Lentz's method (Press et al., "Numerical Recipes", 5.2).
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from statistics import NormalDist

_TINY = 1e-300  # stands for a denominator of zero
_CLOSE = 1e-15
_MOST_TERMS = 100_000
_NORMAL_FROM = 1e8  # degrees of freedom


def t_two_sided(value: float, freedom: float) -> float:
    """The probability that |t| with `freedom` degrees of freedom is at least |value|: a two-sided p."""
    if freedom >= _NORMAL_FROM:
        return math.erfc(abs(value) / math.sqrt(2))
    if math.isinf(value):
        return 0.0
    square = value * value
    return beta_below(freedom / (freedom + square), freedom / 2, 0.5, square / (freedom + square))


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """The value that t with `freedom` degrees of freedom is below with this probability."""
    if freedom >= _NORMAL_FROM:
        return NormalDist().inv_cdf(probability)
    tail = min(probability, 1 - probability)
    size = _inverse(lambda value: 1 - t_two_sided(value, freedom), 1 - 2 * tail)
    return size if probability > 0.5 else -size


def f_below(value: float, first: float, second: float) -> float:
    """The probability that F is at most `value`; the degrees of freedom of numerator and denominator, which may be inf.

    With an infinite denominator F is chi-squared over its degrees of freedom.
    """
    if math.isinf(second):
        return chi2_below(value * first, first)
    if math.isinf(first):
        return 1 - chi2_below(second / value, second) if value > 0 else 0.0
    whole = first * value + second
    return beta_below(first * value / whole, first / 2, second / 2, second / whole)


@cache
def f_quantile(probability: float, first: float, second: float) -> float:
    """The value that F is below with this probability."""
    return _inverse(lambda value: f_below(value, first, second), probability)


def chi2_below(value: float, freedom: float) -> float:
    """The probability that chi-squared with `freedom` degrees of freedom is at most `value`."""
    return gamma_below(freedom / 2, value / 2)


def beta_below(x: float, a: float, b: float, rest: float | None = None) -> float:
    """The regularised incomplete beta function I_x(a, b). `rest` is 1 - x, where it is known more exactly."""
    rest = 1 - x if rest is None else rest
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - beta_below(rest, b, a, x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    return math.exp(logarithm) / (a * _continued(1.0, _beta_terms(x, a, b)))


def _beta_terms(x: float, a: float, b: float) -> Iterator[tuple[float, float]]:
    """Numerators and denominators of 26.5.8: I_x(a, b) is the factor before it, over 1 + d1 / (1 + d2 / (1 + ...))."""
    for m in range(_MOST_TERMS):
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
        yield (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2)), 1.0


def gamma_below(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function P(a, x): a series, or 1 minus a continued fraction (6.5.31)."""
    if x <= 0:
        return 0.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x >= a + 1:
        return 1 - scale / _continued(x + 1 - a, ((-m * (m - a), x + 2 * m + 1 - a) for m in range(1, _MOST_TERMS)))
    term = total = 1 / a
    for m in range(1, _MOST_TERMS):
        term *= x / (a + m)
        total += term
        if term < total * _CLOSE:
            break
    return scale * total


def _continued(first: float, terms: Iterator[tuple[float, float]]) -> float:
    """The continued fraction first + a1 / (b1 + a2 / (b2 + ...)), to rounding."""
    value = ratio = first or _TINY
    inverse = 0.0
    for numerator, denominator in terms:
        inverse = 1 / (denominator + numerator * inverse or _TINY)
        ratio = denominator + numerator / ratio or _TINY
        value *= ratio * inverse
        if abs(ratio * inverse - 1) < _CLOSE:
            break
    return value


def _inverse(below: Callable[[float], float], probability: float) -> float:
    """Where a distribution of positive values reaches a probability, by halving an interval until it is a point."""
    low, high = 0.0, 1.0
    while below(high) < probability and high < 1e300:
        low, high = high, 2 * high
    while high - low > 1e-14 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < probability else (low, middle)
    return (low + high) / 2
