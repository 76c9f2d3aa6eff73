"""Threads that compute at the same time, each with cores of its own.

A matrix product that two threads share ends with both waiting for the slower one, hundreds of times an update, and all
that is too small to be shared leaves a core idle. Two threads that each compute half of the sentences from beginning
to end meet once an update (benchmarks/results/training-step.json has both ways measured); two searches meet never.
They are threads of one process, so that they share the weights: the framework lets other threads run while it computes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

LEAST_TOKENS = 1024  # of a part: with fewer, what each thread does once a batch weighs more than what it gains


def choose_workers(wanted: int | None, tokens: int, device: torch.device) -> int:
    """`wanted`, or as many as there are threads for batches of so many tokens; a GPU shares out its work itself."""
    if wanted is not None:
        return wanted
    return 1 if device.type != "cpu" else max(1, min(torch.get_num_threads(), tokens // LEAST_TOKENS))


class Workers:
    """`count` threads, between which the threads of the framework are divided; one is the calling thread itself.

    They end with this object.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._whole = torch.get_num_threads()
        self._each = max(1, self._whole // count)
        self._pool = self._start() if count > 1 else None

    def in_turn(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """The results in the order of the items, each as soon as it and those before it are there.

        An error of a task is raised here, and what has not been begun is left undone; likewise when the caller stops
        early. Either way no task is under way any more when this ends.
        """
        return map(task, items) if self._pool is None or len(items) < 2 else self._in_pool(self._pool, task, items)

    def _in_pool(self, pool: ThreadPoolExecutor, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        # Asked for in the calling thread as well: the library for float32 products has one number for all threads.
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

    def _start(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.count, "openwork", initializer=torch.set_num_threads, initargs=(self._each,))


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it this thread computes alone.

    A search of few rows is nothing but small operations. Two threads gain nothing there, and wait for each other at
    each of them: where the machine has other work, a sentence then took seconds instead of milliseconds.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
