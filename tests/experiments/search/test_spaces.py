"""Spaces: what a range's single values are, worked by hand, and ranges that there are not."""

import pytest
from pydantic import ValidationError

from openwork.base.errors import RuleError
from openwork.experiments.search.spaces import DOCUMENTS, Range, grid_values, guided_order, product


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (Range(low=1, high=9, step=4), (1, 5, 9)),
        (Range(low=1, high=8, step=4), (1, 5)),
        (Range(low=0.0, high=0.3, points=4), (0.0, 0.1, 0.2, 0.3)),
        (Range(low=0.1, high=0.4, step=0.1), (0.1, 0.2, 0.3, 0.4)),
        (Range(low=1e-5, high=1e-3, log=True, points=3), (1e-5, 1e-4, 1e-3)),
        (Range(low=1, high=1000, log=True, points=4), (1, 10, 100, 1000)),
        (Range(low=256, high=1024, step=64, points=4), (256, 512, 768, 1024)),
        (Range(low=1, high=3, points=9), (1, 2, 3)),
        (Range(low=0.1, high=0.4), ()),
        ((1, 2), (1, 2)),
    ],
)  # fmt: skip
def test_single_values(made: Range | tuple[int, ...], values: tuple[float, ...]):
    assert grid_values(made) == values
    assert [type(one) for one in grid_values(made)] == [type(one) for one in values]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"low": 2, "high": 1}, "C130"),
        ({"low": 1, "high": 1}, "C130"),
        ({"low": 0.0, "high": 1, "log": True}, "C130"),
        ({"low": 1, "high": 2, "log": True, "step": 1}, "C131"),
    ],
)
def test_ranges_that_there_are_not(values: dict[str, float], code: str):
    with pytest.raises(ValidationError) as refused:
        Range(**values)
    error = refused.value.errors()[0]["ctx"]["error"]
    assert isinstance(error, RuleError) and error.code == code


def test_the_last_setting_of_a_grid_changes_fastest():
    assert product({"a": (1, 2), "b": Range(low=0, high=1, step=1)}) == [
        {"a": 1, "b": 0}, {"a": 1, "b": 1}, {"a": 2, "b": 0}, {"a": 2, "b": 1},
    ]  # fmt: skip


def test_the_order_of_experience_is_that_of_the_documents():
    space = {"other": (1,), "batches.tokens": (1,), "model.heads": (1,), "model.width": (1,)}
    assert guided_order(space) == ["model.width", "model.heads", "batches.tokens", "other"]
    assert set(guided_order(dict.fromkeys(DOCUMENTS, (1,)))) == set(DOCUMENTS)
