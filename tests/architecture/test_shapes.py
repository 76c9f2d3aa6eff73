"""Shapes are checked once for each kind of call: what passes and what is refused is what jaxtyping itself says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jaxtyping
import pytest
import torch
from beartype import beartype
from jaxtyping import Float, Int, TypeCheckError
from torch import Tensor

import shapes
from openwork.nn import masks

Way = Callable[..., Any]
WAYS = {"jaxtyping": shapes.CHECKED, "once": shapes.jaxtyped}


@pytest.fixture(params=WAYS)
def checks(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param](typechecker=beartype)


def refused(call: Way, *args: object, **kwargs: object) -> bool:
    try:
        call(*args, **kwargs)
    except TypeCheckError:
        return True
    return False


def test_the_floors_are_checked_in_this_way():
    assert jaxtyping.jaxtyped is shapes.jaxtyped and hasattr(masks.causal, "checks_shapes")


def test_arguments_that_do_not_fit_each_other(checks: Way):
    @checks
    def product(x: Float[Tensor, "rows inner"], y: Float[Tensor, "inner columns"]) -> Float[Tensor, "rows columns"]:
        return x @ y

    for _ in range(2):  # what has passed does not let the others pass, and is not asked for before them
        assert not refused(product, torch.zeros(2, 3), torch.zeros(3, 4))
        assert not refused(product, torch.zeros(2, 3), y=torch.zeros(3, 5))
        assert refused(product, torch.zeros(2, 3), torch.zeros(4, 3))
        assert refused(product, torch.zeros(2, 3), torch.zeros(3, 4).int())
        assert refused(product, torch.zeros(2, 3), y=torch.zeros(3))
        assert refused(product, torch.zeros(2, 3), None)


@pytest.mark.parametrize("wrong", [torch.zeros(3), torch.zeros(2).int(), None, [torch.zeros(2)]], ids=str)
def test_a_result_that_is_wrong_the_second_time(checks: Way, wrong: object):
    results = [torch.zeros(2), wrong, torch.zeros(2), wrong]
    made = []

    @checks
    def next_result(x: Int[Tensor, "rows"]) -> Float[Tensor, "rows"]:
        made.append(results[len(made)])
        return made[-1]  # type: ignore[return-value]

    assert [refused(next_result, torch.zeros(2).long()) for _ in results] == [False, True, False, True]
    assert len(made) == 4  # a result is checked without being made again


def test_values_and_parts_of_containers(checks: Way):
    @checks
    def read(kind: Literal["a", "b"], lines: list[int], pair: tuple[int, str], last: int | None = None) -> None:
        pass

    for _ in range(2):
        assert not refused(read, "a", [1, 2], (1, "x"))
        assert refused(read, "c", [1, 2], (1, "x"))
        assert refused(read, "a", ["x", "y"], (1, "x"))
        assert refused(read, "a", ["x"] * 100, (1, "x")) and not refused(read, "a", [1] * 100, (1, "x"))
        assert refused(read, "a", [1, 2], (1, 2)) and refused(read, "a", [1, 2], (1, "x", "x"))
        assert refused(read, "a", [1, 2], (1, "x"), last=1.5)


def test_a_list_of_unlike_parts_is_refused_sooner_or_later():
    """One part is checked, drawn at random: so a list that has passed is looked at again."""

    @shapes.jaxtyped(typechecker=beartype)
    def read(lines: list[int]) -> None:
        pass

    assert any(refused(read, [1, "x"]) for _ in range(200))


def test_methods_properties_and_dataclasses(checks: Way):
    @checks
    @dataclass(frozen=True)
    class Pair:
        left: Float[Tensor, "rows"]
        right: Float[Tensor, "rows"]

        @classmethod
        @checks
        def of(cls, both: Float[Tensor, "rows"]) -> "Pair":
            return cls(both, both)

        @property
        @checks
        def total(self) -> Float[Tensor, ""]:
            return self.left + self.right

    for _ in range(2):
        assert not refused(Pair, torch.zeros(2), torch.zeros(2)) and refused(Pair, torch.zeros(2), torch.zeros(3))
        assert not refused(Pair.of, torch.zeros(2)) and refused(Pair.of, torch.zeros(2, 2))
        assert refused(lambda: Pair.of(torch.zeros(2)).total)


def test_errors_of_the_function_itself_come_through(checks: Way):
    @checks
    def divide(x: int) -> float:
        return 1 / (x - 1)

    assert divide(3) == 0.5
    with pytest.raises(ZeroDivisionError):
        divide(1)
    with pytest.raises(TypeError, match="argument"):
        divide(1, 2)  # type: ignore[call-arg]


def test_a_function_that_calls_itself(checks: Way):
    @checks
    def halves(x: Float[Tensor, "rows"]) -> int:
        return 0 if len(x) == 1 else 1 + halves(x[: len(x) // 2])

    assert [halves(torch.zeros(8)) for _ in range(2)] == [3, 3]
