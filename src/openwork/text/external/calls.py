"""Calling the library `tokenizers` with a stranger's rules: Ctrl-C is heard, and its panics become errors.

A regular expression that goes back again and again takes seconds for a few characters, and ends in a panic of the
library, which is no `Exception`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

from openwork.base.errors import DataError

Result = TypeVar("Result")
_PANICS = "pyo3_runtime"  # the module that the class of a panic names; it cannot be imported


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """`DataError` for a panic of the library."""
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != _PANICS:
            raise
        raise DataError(
            "the rules of this tokenizer cannot be carried out",
            why=str(error),
            hint="its patterns may be wrong or meant to do harm; take the tokenizer from its makers",
            code="D124",
        ) from error


def call(work: Callable[[], Result], *, may_be_slow: bool) -> Result:
    """What the work gives; `DataError` for a panic.

    `may_be_slow`: a thread of its own does it, and this one can be interrupted. The thread ends with the process.
    """
    with panics_as_errors():
        return _in_thread(work) if may_be_slow else work()


def _in_thread(work: Callable[[], Result]) -> Result:
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((work(), None))
        except BaseException as error:  # it belongs to the thread that waits
            outcome.extend((None, error))

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result
