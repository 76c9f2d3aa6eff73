"""Arguments and results of the public interface: one text or many, paths, progress, tables."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from openwork.base.errors import UsageError
from openwork.base.lines import OnProgress, Report, ignore_progress
from openwork.data.records import Pair

Result = TypeVar("Result")


def as_path(path: str | os.PathLike[str]) -> Path:
    """The path. UsageError for anything but a str or a path."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(
            f"a path is a str or a Path, and this is of type {type(path).__name__}",
            hint='name a file or folder, such as "en-de"',
            code="U098",
        )
    return Path(path)


def many(texts: str | Iterable[str]) -> list[str]:
    """The texts as a list. UsageError for anything but a str or strs."""
    found: list[str] = list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else [texts]
    wrong = [text for text in found if not isinstance(text, str)]
    if wrong:
        raise UsageError(
            f"a text is a str, and this is of type {type(wrong[0]).__name__}",
            hint="give a str, or a list of str",
            code="U096",
        )
    return found


def pairs(sources: str | Iterable[str], targets: str | Iterable[str]) -> list[Pair]:
    """Each source with its target. UsageError where there are more of one than of the other."""
    found = many(sources), many(targets)
    if len(found[0]) != len(found[1]):
        raise UsageError(
            f"there are {len(found[0]):,} sources and {len(found[1]):,} references",
            hint="give as many references as sources",
            code="U095",
        )
    return list(map(Pair, *found))


def is_file(given: object) -> bool:
    """Whether it is one picture or sound: a path, or an array."""
    return isinstance(given, str | os.PathLike | np.ndarray)


def many_pictures(pictures: Any) -> list[Any]:
    """The pictures as a list of paths (str) and arrays. UsageError for anything else."""
    return many_files(pictures, "picture")


def many_files(files: Any, kind: str) -> list[Any]:
    """Pictures or sounds as a list of paths (str) and arrays. UsageError for anything else."""
    found = [files] if is_file(files) or not isinstance(files, Iterable) else list(files)
    wrong = [one for one in found if not is_file(one)]
    if wrong:
        raise UsageError(
            f"a {kind} is a path or an array, and this is of type {type(wrong[0]).__name__}",
            hint="give a str, a Path or an array of numpy, or a list of these",
            code="U114",
        )
    return [one if isinstance(one, np.ndarray) else os.fspath(one) for one in found]


def like(texts: str | Iterable[str], results: Sequence[Result]) -> Result | list[Result]:
    """A str has one result, and several texts have a list."""
    return results[0] if isinstance(texts, str) else list(results)


@contextmanager
def watched(total: int, what: str, *, progress: bool) -> Iterator[OnProgress]:
    """Yields a function to call with the number of texts done; it shows a bar if `progress`."""
    if not progress:
        yield ignore_progress
        return
    from openwork.cli.progress import progress as shown

    with shown(total, what) as advanced:
        yield advanced


def reported(*, progress: bool) -> Report:
    """What takes lines about the work: it shows them if `progress`."""
    if not progress:
        return ignore_report
    from openwork.cli.terminal import report

    return report


def ignore_report(line: str) -> None:
    """For callers who want no progress lines."""


def each_best(found: Sequence[Sequence[Any]], best: int) -> list[Any]:
    """Of each source the best, where one was asked for; else all."""
    return [one[0] for one in found] if best == 1 else list(found)
