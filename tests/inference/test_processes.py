"""Work in copies of this process: the same results in the same order, whatever becomes of a copy."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from openwork.inference.engine import can_be_copied, in_processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only on Linux are processes copied")
HERE = os.getpid()


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def slower_at_first(number: int) -> tuple[int, int]:
    time.sleep(0.1 / (1 + number))
    return number * number, os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    found = list(in_processes(slower_at_first, range(8), count))
    assert [square for square, _ in found] == [number * number for number in range(8)]
    workers = {process for _, process in found}
    assert HERE not in workers and 1 <= len(workers) <= count
    assert list(in_processes(slower_at_first, [], count)) == []


def test_an_error_is_raised_here_after_what_came_before_it() -> None:
    def odd(number: int) -> int:
        if number == 3:
            raise ValueError(f"{number} in {os.getpid()}")
        return number

    results = in_processes(odd, range(6), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match=f"3 in {HERE}"):
        next(results)


@pytest.mark.parametrize("deadly", [{2}, {0, 1}, {0, 1, 2, 3, 4, 5}])
def test_what_a_process_dies_of_is_done_here(deadly: set[int]) -> None:
    def dangerous(number: int) -> tuple[int, bool]:
        if number in deadly and os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        return number, os.getpid() == HERE

    found = list(in_processes(dangerous, range(6), 2))
    assert [number for number, _ in found] == list(range(6))
    assert all(here for number, here in found if number in deadly)


@pytest.mark.slow
def test_a_caller_who_stops_early_leaves_nothing_behind() -> None:
    results = in_processes(slower_at_first, range(100), 2)
    assert next(results)[0] == 0
    results.close()  # type: ignore[attr-defined]


def test_a_process_with_threads_is_not_copied() -> None:
    assert can_be_copied() == (threading.active_count() == 1)
    go = threading.Event()
    thread = threading.Thread(target=go.wait)
    thread.start()
    assert not can_be_copied()
    go.set()
    thread.join()
