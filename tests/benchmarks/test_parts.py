"""The micro-benchmarks: each runs, and all ways to do the same come to the same."""

import pytest
import torch
from micro_parts import PARTS
from parts.comparison import Comparison

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PARTS)
def test_every_way_comes_to_the_same(name: str):
    torch.manual_seed(1)
    for comparison in PARTS[name](scale=1):
        assert comparison.problems() == [], comparison.name
        measured = comparison.measure(rounds=2)["milliseconds"]
        assert set(measured) == set(comparison.ways)
        assert all(times["lower_quartile"] <= times["median"] <= times["upper_quartile"] for times in measured.values())


def test_a_way_that_comes_to_something_else_is_found():
    plain = torch.tensor([1.0, 2.0])
    ways = {
        "plain": lambda: plain,
        "near": lambda: plain + 1e-7,
        "far": lambda: plain + 1e-3,
        "short": lambda: plain[:1],
    }
    assert Comparison("", "", ways).problems() == ["far", "short"]
    assert Comparison("", "", ways, tolerance=1e-2).problems() == ["short"]
    assert Comparison("", "", ways, tolerance=None).problems() == []
    assert Comparison("", "", {"lists": lambda: [1, [2, 3]], "others": lambda: [1, [2, 4]]}).problems() == ["others"]
