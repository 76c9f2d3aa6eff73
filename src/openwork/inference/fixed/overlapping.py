"""Batches one after another on a device, whose results the CPU reads while the device is at work on the next."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from openwork.decoding.fixed.search import nothing_meanwhile

T = TypeVar("T")
R = TypeVar("R")


def overlapping(begin: Callable[..., Callable[[], R]], batches: Sequence[T]) -> Iterator[R]:
    """The results of the batches in their order.

    `begin(batch, meanwhile=function)` has the device do its work on a batch, calls the function while it waits, any
    number of times, and returns what makes the result.
    """
    earlier: _Later[R] | None = None
    for batch in batches:
        later = _Later(begin(batch, meanwhile=nothing_meanwhile if earlier is None else earlier.make))
        if earlier is not None:
            yield earlier.result()
        earlier = later
    if earlier is not None:
        yield earlier.result()


class _Later(Generic[R]):
    """A result that is made once, when it is asked for or before."""

    def __init__(self, maker: Callable[[], R]) -> None:
        self._maker, self._made = maker, list[R]()

    def make(self) -> None:
        if not self._made:
            self._made.append(self._maker())

    def result(self) -> R:
        self.make()
        return self._made[0]
