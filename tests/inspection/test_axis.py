"""From values to pixels and ticks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.inspection.plots import Axis, axis_for, linear_ticks, logarithmic_ticks, tick_text

REASONABLE = st.floats(-1e9, 1e9).map(lambda value: round(value, 6))


def test_pixels():
    """Worked by hand: 25 is a quarter of the way from 0 to 100; 10 is half the way from 1 to 100 in logarithms."""
    assert Axis(0, 100, 40, 80).pixel(25) == 50
    assert Axis(0, 100, 80, 40).pixel(25) == 70
    assert Axis(1, 100, 40, 80, logarithmic=True).pixel(10) == pytest.approx(60)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 6, [0, 1, 2, 3, 4, 5, 6]),
        (-3, 9, [-2, 0, 2, 4, 6, 8]),
        (17, 2950, [500, 1000, 1500, 2000, 2500]),
    ],
)
def test_linear_ticks(low: float, high: float, ticks: list[float]):
    assert linear_ticks(low, high) == pytest.approx(ticks)


def test_logarithmic_ticks():
    assert logarithmic_ticks(0.5, 2000) == pytest.approx([1, 10, 100, 1000])
    assert logarithmic_ticks(0.1, 4) == pytest.approx([0.1, 0.2, 0.5, 1, 2])
    assert logarithmic_ticks(3.1, 3.9) == linear_ticks(3.1, 3.9)


@given(REASONABLE, REASONABLE)
def test_ticks_are_few_and_inside(first: float, second: float):
    axis = axis_for([first, second], 0, 100)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(-1e-3 <= axis.pixel(tick) <= 100 + 1e-3 for tick in ticks)


@given(REASONABLE, REASONABLE)
def test_a_rounded_axis_holds_its_values_and_ends_on_ticks(first: float, second: float):
    axis = axis_for([first, second], 0, 100, rounded=True)
    slack = 1e-6 * (axis.high - axis.low)  # far below a pixel
    assert axis.low <= min(first, second) + slack and axis.high >= max(first, second) - slack
    assert axis.pixel(axis.ticks()[0]) == pytest.approx(0, abs=1e-3)
    assert axis.pixel(axis.ticks()[-1]) == pytest.approx(100, abs=1e-3)


def test_a_single_value_stands_in_the_middle():
    assert axis_for([5.0], 0, 100).pixel(5.0) == pytest.approx(50)
    assert axis_for([0.0], 0, 100).pixel(0.0) == pytest.approx(50)
    assert axis_for([5.0], 0, 100, logarithmic=True).pixel(5.0) == pytest.approx(50)


def test_what_cannot_be_shown():
    axis = axis_for([-1.0, 0.0, 1.0, 10.0, math.nan, math.inf], 0, 100, logarithmic=True)
    assert (axis.low, axis.high) == (1.0, 10.0)
    assert [axis.shows(value) for value in (1.0, 0.0, -1.0, math.nan, math.inf)] == [True, False, False, False, False]
    assert (axis_for([], 0, 1).low, axis_for([], 0, 1).high) == (0, 1)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (0.05, "0.05"), (1000.0, "1,000"), (1.5, "1.5"), (2e-5, "2e-05"), (2e6, "2e+06"), (-0.2, "-0.2")],
)
def test_tick_text(value: float, written: str):
    assert tick_text(value) == written
