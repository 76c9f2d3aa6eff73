"""One axis of a chart: from values to pixels, and where the ticks stand."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

# Far outside of these, differences and logarithms of 64-bit numbers break down.
SMALLEST, LARGEST = 1e-290, 1e290


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` become pixels from `start` to `end` (which may be smaller, for an axis that
    goes up); `logarithmic` for equal distances between equal ratios.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def pixel(self, value: float) -> float:
        low, high, at = (math.log(x) if self.logarithmic else x for x in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def shows(self, value: float) -> bool:
        """Whether a value can stand on this axis at all: NaN, infinity, and zero on a logarithmic axis cannot."""
        return _can_be_shown(value, self.logarithmic)

    def ticks(self) -> list[float]:
        marks = logarithmic_ticks(self.low, self.high) if self.logarithmic else linear_ticks(self.low, self.high)
        slack = (self.high - self.low) * 1e-9
        return [mark for mark in marks if self.low - slack <= mark <= self.high + slack]


def axis_for(
    values: Iterable[float], start: float, end: float, *, logarithmic: bool = False, rounded: bool = False
) -> Axis:
    """An axis that just holds the values; 0 to 1 (1 to 10 on a logarithmic one) when there are none.

    `rounded` moves both ends of a linear axis outwards to the next tick.
    """
    shown = [value for value in values if _can_be_shown(value, logarithmic)]
    if not shown:
        return Axis(1, 10, start, end, True) if logarithmic else Axis(0, 1, start, end)
    low, high = min(shown), max(shown)
    if high - low <= 1e-12 * max(abs(low), abs(high), SMALLEST):  # a single value stands in the middle
        half = max(abs(low), abs(high)) / 2 if max(abs(low), abs(high)) > SMALLEST else 0.5
        low, high = (low / 2, low * 2) if logarithmic else (low - half, low + half)
    while rounded and not logarithmic:
        step = tick_step(low, high)
        outer = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        # A longer axis may need a larger step.
        low, high, rounded = *outer, tick_step(*outer) != step
    return Axis(low, high, start, end, logarithmic)


def _can_be_shown(value: float, logarithmic: bool) -> bool:
    return abs(value) < LARGEST and (not logarithmic or value > SMALLEST)


def tick_step(low: float, high: float, about: int = 6) -> float:
    """The distance of ticks between two values: 1, 2 or 5 times a power of ten."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if raw <= factor * power * (1 + 1e-9))


def linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two values."""
    step = tick_step(low, high)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12 - math.floor(math.log10(step))) for index in range(first, last + 1)]


def logarithmic_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and their doubles and fivefolds where there are few; an equal division where even these fail."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        marks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        inside = [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(inside) >= 3:
            return inside[:: math.ceil(len(inside) / 8)]
    return linear_ticks(low, high)


def tick_text(value: float) -> str:
    """`1,000`, `0.05`, `2e-05`: short and exact enough for a tick."""
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")
