"""Worker threads that compute in parallel, each with cores of its own.

Threads that share a matrix product wait for the slowest one, hundreds of times an update, and small operations leave
cores idle. Two threads that each compute half of the sentences wait once an update
(benchmarks/results/training-step.json has both measured), and two searches never wait. As threads of one process they
share the weights; torch releases Python's lock while it computes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import torch

from openwork.machine.available import free_cores

T = TypeVar("T")
R = TypeVar("R")

LEAST_TOKENS = 1024  # of a worker's part; with fewer the cost per batch of a worker exceeds its gain


def choose_threads(wanted: int | None, device: torch.device, processes: int = 1) -> int | None:
    """`wanted`, or as many as torch has, at most the cores that are free now; None: torch's, for a GPU or processes.

    Sums depend on the number of threads, so a run keeps its own.
    """
    threads = torch.get_num_threads()
    if wanted is not None or device.type != "cpu" or processes > 1:
        return wanted
    return threads if threads == 1 else min(threads, free_cores())


def choose_workers(wanted: int | None, tokens: int, device: torch.device, processes: int = 1) -> int:
    """`wanted`, or the number of threads, bounded by the tokens of a batch; one for a GPU, which is parallel itself.

    They are those of all `processes` together.
    """
    if wanted is not None:
        return wanted
    if device.type != "cpu":
        return processes
    return max(processes, min(processes * torch.get_num_threads(), tokens // LEAST_TOKENS))


class Workers:
    """A pool of `count` threads that share torch's threads evenly; they end with this object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._whole = torch.get_num_threads()
        self._each = max(1, self._whole // count)
        self._pool = None
        if count > 1:
            self._pool = ThreadPoolExecutor(count, "openwork", torch.set_num_threads, (self._each,))

    def in_turn(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """Yields the results in the order of the items, each as soon as it and those before it are ready.

        Raises an error of a task. After an error, or if the caller stops early, waiting tasks are cancelled and running
        ones have ended.
        """
        return map(task, items) if self._pool is None or len(items) < 2 else self._in_pool(self._pool, task, items)

    def _in_pool(self, pool: ThreadPoolExecutor, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        # In the calling thread too: the library for float32 products has one number for all threads.
        torch.set_num_threads(self._each)
        under_way = [pool.submit(task, item) for item in items]
        try:
            for one in under_way:
                yield one.result()
        finally:
            for one in under_way:
                one.cancel()
            wait(under_way)
            torch.set_num_threads(self._whole)

    def map(self, task: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """All results, in the order of the items."""
        return list(self.in_turn(task, items))


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """A context in which torch uses so many threads; None: as many as it did."""
    threads = torch.get_num_threads()
    torch.set_num_threads(count or threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def one_thread() -> AbstractContextManager[None]:
    """A context in which torch uses one thread.

    A search of few rows consists of small operations, where threads gain nothing and wait for each other: on a busy
    machine a sentence took seconds instead of milliseconds.
    """
    return using_threads(1)
