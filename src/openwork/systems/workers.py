"""Several workers of one thread each, in one process.

A step of a search is a hundred small operations, and splitting each of them between two threads costs more waiting than
it saves. Two searches side by side wait for nobody: torch lets go of Python's lock while it computes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import torch

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def in_turn(work: Callable[[ItemT], ResultT], items: Sequence[ItemT], workers: int) -> Iterator[ResultT]:
    """`work` of each item, in the order of the items, each done by one of the workers.

    With one worker or one item it is done here. An exception of `work` is raised here, and what has not been begun is
    left undone; likewise when the caller stops early.
    """
    if workers < 2 or len(items) < 2:
        yield from map(work, items)
        return
    threads = torch.get_num_threads()
    # a thread's number of threads is its own, but the last one set is also that of threads to come
    pool = ThreadPoolExecutor(min(workers, len(items)), initializer=partial(torch.set_num_threads, 1))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(threads)


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
