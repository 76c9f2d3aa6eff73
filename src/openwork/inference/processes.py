"""Searches in forked processes, which share the weights of this one.

A search is thousands of small operations, at each of which threads of one interpreter wait for each other. A fork takes
a tenth of a second, so it pays for many sentences only (docs/speed.md has the figures). A process with other threads
must not be forked: the copy has their locks but not the threads that release them.
"""

import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def can_be_copied() -> bool:
    """Whether this process can be forked: on Linux, with no other Python thread than the main one."""
    return sys.platform == "linux" and threading.active_count() == 1


def in_processes(task: Callable[[T], R], items: Sequence[T], count: int) -> Iterator[R]:
    """Yields the results of the items in their order, computed in `count` processes.

    An item whose process ended or whose task raised an error is done here, so that the caller gets the error. No
    process is left at the end, also when the caller stops early.
    """
    processes = [_Copy(task, items) for _ in range(count)]
    waiting = iter(range(len(items)))
    results: dict[int, tuple[R, ...]] = {}
    try:
        for process in processes:
            process.give(next(waiting, None))
        for number, item in enumerate(items):
            while number not in results and any(process.number is not None for process in processes):
                for process in _ready(processes):
                    done, result = process.take()
                    results[done] = result
                    process.give(None if process.is_dead else next(waiting, None))
            result = results.pop(number, ())
            yield result[0] if result else task(item)
    finally:
        for process in processes:
            process.end()


def _ready(processes: "Sequence[_Copy]") -> "list[_Copy]":
    at_work = {process.here: process for process in processes if process.number is not None}
    return [at_work[here] for here in wait(list(at_work)) if isinstance(here, Connection)]


class _Copy:
    """One process: it gets numbers of items and returns results as tuples of one, or () for a failure."""

    def __init__(self, task: Callable[[T], R], items: Sequence[T]) -> None:
        context = multiprocessing.get_context("fork")
        self.here, there = context.Pipe()
        self.number: int | None = None  # of the item in work
        self.is_dead = False
        self.process = context.Process(target=_work, args=(task, items, there, self.here), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries hold no lock of ours
            self.process.start()
        there.close()

    def give(self, number: int | None) -> None:
        """Sends the next item, or None: there are no more."""
        self.number = number
        if number is not None:
            with suppress(OSError):  # a dead process is noticed when its answer is taken
                self.here.send(number)

    def take(self) -> tuple[int, tuple[Any, ...]]:
        """The number of the item in work and its result."""
        assert self.number is not None
        number, self.number = self.number, None
        try:
            return number, self.here.recv()
        except (EOFError, OSError):
            self.is_dead = True
            self.end()
            return number, ()

    def end(self) -> None:
        """Ends the process."""
        self.here.close()
        self.process.kill()
        self.process.join()


def _work(task: Callable[[Any], Any], items: Sequence[Any], there: Connection, here: Connection) -> None:
    here.close()  # else this process would not notice that the other end is gone
    torch.set_num_threads(1)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            number = there.recv()
            try:
                answer: tuple[Any, ...] = (task(items[number]),)
            except Exception:  # it is raised again where the caller sees it
                answer = ()
            there.send(answer)
