"""The model of communication: numbers worked by hand, and rings that are played through."""

import numpy as np
import pytest

from openwork.cost.communication import (
    BETWEEN,
    INSIDE,
    Collective,
    Network,
    Traffic,
    share_imbalance,
    step_latency,
    update_time,
)

SLOW = Network(bandwidth=100.0, latency=2.0, trees=False)


def test_an_all_reduce_by_hand() -> None:
    """400 bytes, 4 processes: 6 steps of 2 seconds, and 3/4 of the bytes twice at 100 a second."""
    traffic = Traffic("all-reduce", 400, messages=1)
    assert traffic.sent(4) == 600
    assert traffic.seconds(SLOW, 4) == 6 * 2 + 600 / 100
    assert Traffic("all-reduce", 400, messages=5).seconds(SLOW, 4) == 5 * 6 * 2 + 600 / 100


def test_trees_are_used_where_they_are_faster() -> None:
    """Two trees of 4 take 4 steps and send all bytes twice; with 8,000 bytes the ring is faster again."""
    trees = Network(bandwidth=100.0, latency=2.0)
    assert Traffic("all-reduce", 400, 1).seconds(trees, 4) == 4 * 2 + 800 / 100
    assert Traffic("all-reduce", 8000, 1).seconds(trees, 4) == Traffic("all-reduce", 8000, 1).seconds(SLOW, 4) == 132
    assert Traffic("all-gather", 400, 1).seconds(trees, 4) == 3 * 2 + 300 / 100


def test_a_gather_and_a_scatter_are_half_an_all_reduce() -> None:
    for processes in (2, 3, 8):
        both = sum(Traffic(one, 960, 4).seconds(SLOW, processes) for one in ("all-gather", "reduce-scatter"))
        assert both == pytest.approx(Traffic("all-reduce", 960, 4).seconds(SLOW, processes))


def test_one_process_sends_nothing() -> None:
    assert Traffic("all-reduce", 400, 1).seconds(SLOW, 1) == 0
    assert Traffic("all-reduce", 400, 1).sent(1) == 0


def ring(values: np.ndarray, collective: Collective) -> tuple[np.ndarray, int, int]:
    """What each process has in the end, and the steps and bytes that one of them sent: every step each sends a chunk.

    `values`: (process, chunk), of as many chunks as processes. In an all-gather, process p has chunk p at first.
    """
    count, steps, sent = len(values), 0, 0
    held = values.copy()
    if collective in ("all-reduce", "reduce-scatter"):
        for step in range(count - 1):
            passed = [held[process, (process - step) % count] for process in range(count)]
            for process in range(count):
                held[(process + 1) % count, (process - step) % count] += passed[process]
            steps, sent = steps + 1, sent + held.itemsize
    if collective in ("all-reduce", "all-gather"):
        shift = 1 if collective == "all-reduce" else 0  # whose turn it is to pass on: the owner of the finished chunk
        for step in range(count - 1):
            passed = [held[process, (process + shift - step) % count] for process in range(count)]
            for process in range(count):
                held[(process + 1) % count, (process + shift - step) % count] = passed[process]
            steps, sent = steps + 1, sent + held.itemsize
    return held, steps, sent


@pytest.mark.parametrize("processes", [2, 3, 4, 7])
def test_a_ring_that_is_played_through_sends_as_much(processes: int) -> None:
    values = np.random.default_rng(3).integers(0, 100, (processes, processes)).astype(np.float64)
    size, count_steps = values[0].nbytes, Network(bandwidth=1e30, latency=1.0, trees=False)
    for collective in ("all-reduce", "all-gather", "reduce-scatter"):
        held, steps, sent = ring(values, collective)
        traffic = Traffic(collective, size, messages=1)
        assert (sent, steps) == (traffic.sent(processes), pytest.approx(traffic.seconds(count_steps, processes)))
        if collective == "all-reduce":
            assert (held == values.sum(axis=0)).all()
        elif collective == "all-gather":
            assert (held == np.diag(values)).all()
        else:
            assert all(held[chunk - 1, chunk] == values[:, chunk].sum() for chunk in range(processes))


def test_the_mean_step_of_a_ring() -> None:
    """Up to eight devices are one node; of two nodes, two in sixteen steps lead to the other."""
    assert step_latency(8) == INSIDE
    assert step_latency(16) == pytest.approx((14 * INSIDE + 2 * BETWEEN) / 16)
    assert Network(1.0).step(8) == INSIDE and Network(1.0, latency=5.0).step(8) == 5.0


def test_computing_hides_communication() -> None:
    """18 seconds of communication. Half of it is hidden by 20 seconds of computing, and by 5 no more than these."""
    traffic = (Traffic("all-reduce", 400, 1),)
    assert update_time(20, traffic, SLOW, 4).total == 38
    half = Network(100.0, 2.0, overlap=0.5, trees=False)
    assert (update_time(20, traffic, half, 4).exposed, update_time(5, traffic, half, 4).exposed) == (9, 13)
    assert update_time(20, traffic, Network(100.0, 2.0, overlap=1.0, trees=False), 4).total == 20
    assert update_time(20, traffic, None, 4, imbalance=1.5).total == 30


def test_the_fullest_process_decides() -> None:
    """10 sentences for 4 processes: 3, 3, 2 and 2, where the mean is 2.5. For 16: one, where the mean is 10/16."""
    assert share_imbalance(10, 4) == 3 / 2.5
    assert share_imbalance(10, 16) == 1.6
    assert share_imbalance(12, 4) == share_imbalance(163, 1) == 1
