"""Work on many items: one after another in this process, or by workers elsewhere (`ray_pool.py`). No torch here."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeVar

from openwork.base.errors import OpenworkError

T = TypeVar("T")
R = TypeVar("R")
Results = Generator[tuple[T, R | OpenworkError], None, None]
"""Items with their results. Closing it ends the workers."""


class Pool(Protocol):
    """Workers that share a list of items."""

    def run(self, start: Callable[[], Callable[[T], R]], items: Sequence[T]) -> Results[T, R]:
        """Yields every item once with its result, in the order in which they are done.

        `start` makes a worker's function of an item. It is called once a worker, so it may load a model. A worker gets
        one item at a time, so no more items are under way than there are workers. An error of the function is raised
        here. An `OpenworkError` in place of a result: the worker died at this item, again and again.
        """
        ...


class OneProcess:
    """This process as the only worker."""

    def run(self, start: Callable[[], Callable[[T], R]], items: Sequence[T]) -> Results[T, R]:
        work = start()
        for item in items:
            yield item, work(item)
