"""Threads that compute at the same time, each with cores of its own.

A matrix product that two threads share ends with both waiting for the slower one, hundreds of times an update, and all
that is too small to be shared leaves a core idle. Two threads that each compute half of the sentences from beginning
to end meet once an update (benchmarks/results/training-step.json has both ways measured). They are threads of one
process, so that they share the weights: the framework lets other threads run while it computes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    """`count` threads, between which the threads of the framework are divided; one is this thread itself."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._whole = torch.get_num_threads()
        self._pool = self._start() if count > 1 else None

    def map(self, task: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """The results in the order of the items; an error of the first item that has one is raised."""
        if self._pool is None or len(items) == 1:
            return [task(item) for item in items]
        # Asked for in the calling thread as well: the library for float32 products has one number for all threads.
        torch.set_num_threads(self._each)
        try:
            return [waiting.result() for waiting in [self._pool.submit(task, item) for item in items]]
        finally:
            torch.set_num_threads(self._whole)

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    @property
    def _each(self) -> int:
        return max(1, self._whole // self.count)

    def _start(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.count, "openwork", initializer=torch.set_num_threads, initargs=(self._each,))
