"""Worker threads that compute in parallel, each with cores of its own.

Threads that share a matrix product wait for the slowest one, hundreds of times an update, and small operations leave
cores idle. Two threads that each compute half of the sentences wait once an update
(benchmarks/results/training-step.json has both measured), and two searches never wait. As threads of one process they
share the weights; torch releases Python's lock while it computes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import torch

from openwork.machine.available import free_cores

T = TypeVar("T")
R = TypeVar("R")

LEAST_TOKENS = 512  # of a worker's part; with fewer the cost per batch of a worker exceeds its gain
GOOD_TOKENS = 1024  # with fewer a core that another program has makes two workers slower than one
LEAST_NUMBERS = 65_536  # in the vectors of a worker's part; operations on fewer are over before a second thread helps
OBSERVED = 8  # calls whose times are summed before they decide anything
FEWEST_SINGLE, MOST_SINGLE = 32, 512  # calls one by one until it is tried again whether all at once is faster


def choose_threads(wanted: int | None, device: torch.device, workers: int = 1, processes: int = 1) -> int | None:
    """`wanted`, or as many as torch has; None: torch's, for a GPU or processes.

    Threads that share a product wait for each other, and with a core that is taken two are slower than one: where a
    worker would have several, they are at most as many as cores are free now. Sums depend on the number of threads, so
    a run keeps its own.
    """
    threads = torch.get_num_threads()
    if wanted is not None or device.type != "cpu" or processes > 1:
        return wanted
    return threads if threads <= workers else min(threads, max(workers, free_cores()))


def threads_for(tokens: int, width: int, device: torch.device, processes: int = 1) -> int | None:
    """One where a batch's vectors are so few and so narrow that several threads take as long; None: any number.

    On an idle machine one is about as fast there, and where another program has a core it is faster by half
    (benchmarks/results/busy-machine.json).
    """
    return 1 if device.type == "cpu" and processes == 1 and tokens * width < 2 * LEAST_NUMBERS else None


def choose_workers(wanted: int | None, tokens: int, device: torch.device, processes: int = 1) -> int:
    """`wanted`, or the number of threads, bounded by the tokens of a batch; one for a GPU, which is parallel itself.

    Those whose parts would be small are only as many as cores are free now. They are those of all `processes` together.
    """
    if wanted is not None:
        return wanted
    if device.type != "cpu":
        return processes
    threads = processes * torch.get_num_threads()
    small, good = min(threads, tokens // LEAST_TOKENS), min(threads, tokens // GOOD_TOKENS)
    return max(processes, min(small, max(good, free_cores())) if small > good else good)


class Load:
    """Whether items are computed all at once or one by one, whichever takes less time at the moment.

    Where other programs have the cores, threads that compute at once wait for them and for each other, and one by one
    is faster. The threads' own processor time says how long that would take, so that nothing is tried on an
    idle machine. Once one by one, all at once is tried after some calls, which are more each time it fails.
    """

    def __init__(self) -> None:
        self._calls, self._passed, self._computed = 0, 0.0, 0.0
        self._single, self._next = 0, FEWEST_SINGLE

    def at_once(self) -> bool:
        """For the next call."""
        self._single = max(0, self._single - 1)
        return self._single == 0

    def record(self, passed: float, computed: float) -> None:
        """Seconds of a call all at once: on the clock, and of all its threads on a processor."""
        self._calls, self._passed, self._computed = self._calls + 1, self._passed + passed, self._computed + computed
        if self._calls < OBSERVED:
            return
        if self._computed < self._passed:
            self._single, self._next = self._next, min(2 * self._next, MOST_SINGLE)
        else:
            self._next = FEWEST_SINGLE
        self._calls, self._passed, self._computed = 0, 0.0, 0.0


class Workers:
    """A pool of `count` threads that share torch's threads evenly; they end with this object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._whole = torch.get_num_threads()
        self._each = max(1, self._whole // count)
        self._load = Load()
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
        """All results, in the order of the items; a task computes with as many threads whatever the others do."""
        if self._pool is None or len(items) < 2 or self._each > 1:
            return list(self.in_turn(task, items))
        if not self._load.at_once():
            with using_threads(self._each):
                return [task(item) for item in items]

        def timed(item: T) -> tuple[R, float]:
            before = time.thread_time()
            return task(item), time.thread_time() - before

        begin = time.perf_counter()
        results = list(self._in_pool(self._pool, timed, items))
        self._load.record(time.perf_counter() - begin, sum(seconds for _, seconds in results))
        return [result for result, _ in results]


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
