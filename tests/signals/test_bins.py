"""Values of a series in bins: by hand, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.signals.bins import Bins, Scale
from openwork.signals.settings import SeriesSettings

FIVE = Bins(SeriesSettings(bins=5, limit=1.0))
Kinds = st.sampled_from(["mean", "standard"])
Values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


def test_bins_by_hand() -> None:
    assert FIVE.centres == [-1.0, -0.5, 0.0, 0.5, 1.0] and FIVE.names == ["-1", "-0.5", "0", "0.5", "1"]
    assert FIVE.scale([10, -14, 12]) == Scale(0.0, 12.0)
    scale = FIVE.scale([2, -2])
    assert FIVE.numbers([0.4, 0.6, -1.6, 2, 100, -100], scale) == [2, 3, 0, 4, 4, 0]
    assert FIVE.values([0, 3], scale) == [-2.0, 1.0]
    assert FIVE.text([1, 0], scale) == "0.5 0"


def test_standard_scaling_by_hand() -> None:
    bins = Bins(SeriesSettings(bins=5, limit=1.0, scaling="standard"))
    assert bins.scale([3, 7]) == Scale(5.0, 2.0)
    assert bins.numbers([3, 5, 6, 7], bins.scale([3, 7])) == [0, 2, 3, 4]


@pytest.mark.parametrize(("kind", "shift"), [("mean", 0.0), ("standard", 4.0)])
def test_a_context_without_size_is_not_divided(kind: str, shift: float) -> None:
    bins = Bins(SeriesSettings.model_validate({"scaling": kind}))
    assert bins.scale([shift, shift]) == Scale(shift, 1.0)


@given(Kinds, st.integers(2, 500), st.floats(0.1, 50), Values)
def test_bins_come_back(kind: str, count: int, limit: float, context: list[float]) -> None:
    bins = Bins(SeriesSettings.model_validate({"bins": count, "limit": limit, "scaling": kind}))
    scale, numbers = bins.scale([*context, 1e6, -1e6]), list(range(count))
    assert bins.numbers(bins.values(numbers, scale), scale) == numbers
    assert len(set(bins.names)) == count


@given(Kinds, Values, st.sampled_from([0.125, 2.0, 1024.0]))
def test_a_factor_changes_no_bin(kind: str, values: list[float], factor: float) -> None:
    """Powers of two, so that no rounding tells the two apart."""
    bins = Bins(SeriesSettings.model_validate({"scaling": kind}))
    scale, scaled = bins.scale(values), bins.scale([factor * value for value in values])
    if scale.size != 1.0 and scaled.size != 1.0:  # of a context without size
        assert bins.numbers(values, scale) == bins.numbers([factor * value for value in values], scaled)


@given(Values)
def test_a_value_is_at_most_half_a_bin_from_its_own(values: list[float]) -> None:
    bins = Bins(SeriesSettings(bins=300, limit=20.0))
    scale = bins.scale(values)
    for value, found in zip(values, bins.values(bins.numbers(values, scale), scale), strict=True):
        assert abs(value - found) <= 0.5001 * bins.width * scale.size + 1e-9
