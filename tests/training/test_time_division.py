"""The time of updates divided among what ran, worked by hand on records of a few events. Times in seconds here."""

from typing import Any

import pytest

from openwork.nn.kernels.native.norm import DroppedSum, NormOfSum
from openwork.training.computing.time_division import (
    COMPILED,
    DATA,
    GROUPS,
    LOSS,
    MODEL,
    REST,
    UPDATE,
    Division,
    Event,
    Group,
    divide,
    group_of,
)

DROPOUT, ATTENTION = "openwork: dropout", "openwork: attention"


def event(name: str, start: float, end: float, thread: int = 1, **more: Any) -> Event:
    return Event(name, thread, start * 1e6, end * 1e6, **more)


def spent(division: Division) -> dict[Group, float]:
    """The groups that took any time."""
    return {group: round(division.seconds(group), 9) for group in GROUPS if division.seconds(group) > 1e-9}


def test_a_moment_belongs_to_the_innermost_operator():
    division = divide(
        [
            event(UPDATE, 0, 10),
            event("aten::linear", 1, 8),
            event("aten::addmm", 2, 7),
            event("aten::copy_", 3, 4),  # inside: not counted twice
        ]
    )
    assert division.total == 10
    assert spent(division) == {"matrix products": 6, "copies and casts": 1, REST: 3}
    assert division.operators["matrix products"] == {"aten::linear": 2, "aten::addmm": 4}
    assert sum(map(division.share, GROUPS)) == 1


def test_where_two_threads_compute_the_moment_is_divided():
    events = [
        event(UPDATE, 0, 10),  # the thread that waits for both
        event("aten::mm", 1, 5, thread=2),
        event("aten::_softmax", 3, 7, thread=3),
    ]
    division = divide(events)
    # 1-3 products alone, 3-5 both (1 second each), 5-7 softmax alone
    assert spent(division) == {"matrix products": 3, "softmax and loss": 3, REST: 4}
    assert division.threads == 8 / 6


def test_a_compiled_norm_is_a_norm_though_no_module_calls_it():
    division = divide(
        [
            event(UPDATE, 0, 10),
            event("NormOfSum", 1, 3),
            event("NormOfSumBackward", 4, 5),
            event("DroppedSum", 6, 9),
        ]
    )
    assert spent(division) == {"normalisation": 3, "dropout": 3, REST: 4}
    assert set(COMPILED) == {NormOfSum.__name__, DroppedSum.__name__}


@pytest.mark.parametrize("product", ["aten::mm", "openwork::product"])
def test_the_place_of_a_module_decides_for_what_has_no_name_of_its_own(product: str):
    division = divide(
        [
            event(UPDATE, 0, 20),
            event(MODEL, 0, 10),
            event(DROPOUT, 1, 4),
            event("aten::mul", 2, 4),
            event("aten::mul", 4, 5),
            event(ATTENTION, 5, 9),
            event(product, 5, 6),  # a projection of the attention is a matrix product
            event("aten::copy_", 6, 7),  # and a copy there is a copy
            event("aten::_softmax", 7, 8),
        ]
    )
    # 1-2, inside the label and outside of every operator, is Python
    expected = {"dropout": 2, "sums and activations": 1, "matrix products": 1, "copies and casts": 1, "attention": 1}
    assert spent(division) == {**expected, REST: 14}


def test_a_gradient_belongs_where_its_forward_operator_was_called():
    division = divide(
        [
            event(UPDATE, 0, 20),
            event("aten::empty", 0, 1, number=7),  # what is called before has the same number
            event(DROPOUT, 1, 4),
            event("aten::mul", 2, 4, number=7),
            event("aten::mul", 4, 5, number=8),
            event("MulBackward0", 10, 12, number=8, forward_thread=1),
            event("aten::mul", 10, 12),
            event("MulBackward0", 12, 15, thread=4, number=7, forward_thread=1),  # also from another thread
            event("aten::mul", 12, 15, thread=4),
            event("MulBackward0", 15, 16, number=7, forward_thread=2),  # of another thread's operator: not that one
            event("aten::mul", 15, 16),
        ]
    )
    assert spent(division) == {"dropout": 5, "sums and activations": 4, REST: 11}


def test_a_gradient_without_a_number_is_that_of_no_operator():
    division = divide(
        [
            event(UPDATE, 0, 10),
            event(DROPOUT, 1, 4),
            event("aten::mul", 2, 4),  # has no number either
            event("AccumulateGrad", 5, 8, thread=4, forward_thread=1),
            event("aten::add_", 5, 8, thread=4),
        ]
    )
    assert spent(division) == {"dropout": 2, "sums and activations": 3, REST: 5}


def test_waiting_for_data_counts_with_all_that_is_inside():
    division = divide(
        [
            event(UPDATE, 0, 10),
            event(DATA, 1, 5),
            event("aten::copy_", 2, 3),
            event(LOSS, 6, 9),
            event("aten::sum", 7, 8),
            event("aten::mm", 8, 9),
        ]
    )
    expected = {"waiting for data": 4, "softmax and loss": 1, "matrix products": 1, REST: 4}
    assert spent(division) == expected


def test_on_a_gpu_its_own_time_counts():
    division = divide(
        [
            event(UPDATE, 0, 10),
            event("aten::mm", 1, 1.5, on_device=4e6),
            event("aten::add", 2, 2.5, on_device=1e6),
        ]
    )
    assert spent(division) == {"matrix products": 4, "sums and activations": 1, REST: 5}


def test_nothing_recorded():
    assert spent(divide([event(UPDATE, 0, 2)])) == {REST: 2}
    assert divide([]).total == 0


def test_what_the_optimiser_calls_is_the_optimisers():
    assert group_of("aten::add_", "openwork: clipping and optimiser", REST) == "clipping and optimiser"
    division = divide([event(UPDATE, 0, 4), event("Optimizer.step#SGD.step", 1, 3), event("aten::add_", 2, 3)])
    assert spent(division) == {"clipping and optimiser": 1, REST: 3}
