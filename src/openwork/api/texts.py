"""One text or many: what a person hands to a model, and results in the same form."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from openwork.base.errors import UsageError
from openwork.data.records import Pair

Result = TypeVar("Result")
Advanced = Callable[[int], None]


def many(texts: str | Iterable[str]) -> list[str]:
    """The texts as a list. UsageError for anything but a str or strs."""
    found: list[str] = list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else [texts]
    wrong = [text for text in found if not isinstance(text, str)]
    if wrong:
        raise UsageError(
            f"a text is a str, and this is of type {type(wrong[0]).__name__}", hint="give a str, or a list of str"
        )
    return found


def pairs(sources: str | Iterable[str], targets: str | Iterable[str]) -> list[Pair]:
    """Each source with its target. UsageError where there are more of one than of the other."""
    found = many(sources), many(targets)
    if len(found[0]) != len(found[1]):
        raise UsageError(
            f"there are {len(found[0]):,} sources and {len(found[1]):,} references",
            hint="give as many references as sources",
        )
    return list(map(Pair, *found))


def like(texts: str | Iterable[str], results: Sequence[Result]) -> Result | list[Result]:
    """A str has one result, and several texts have a list."""
    return results[0] if isinstance(texts, str) else list(results)


@contextmanager
def watched(total: int, what: str, *, progress: bool) -> Iterator[Advanced]:
    """Gives a function that is told how many more are done, and shows it if there is to be `progress`."""
    if not progress:
        yield lambda count: None
        return
    from openwork.cli.progress import progress as shown

    with shown(total, what) as advanced:
        yield advanced


def say_nothing(line: str) -> None:
    """For callers that do not watch."""
