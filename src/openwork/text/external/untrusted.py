"""Protection from the rules of a stranger's tokenizer: texts that they make too long, and their endless patterns.

A file of a few lines can double a text again and again: forty times, and no memory holds the result. The library would
not hear Ctrl-C meanwhile. So each rule's factor is read from the file, and what multiplies to too much is refused. A
regular expression that goes back again and again takes seconds for a few characters, and ends in a panic of the
library, which is no `Exception`.
"""

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from math import prod
from threading import Thread
from typing import Any, TypeVar

from openwork.base.errors import DataError

MOST_GROWTH = 1 << 14
"""Times. The widest in use, ALBERT's, has 3,888 by this way of counting."""

# The most characters that one can become, by the standard (NFKC: U+FDFA) or by what the rule adds.
_BY_TYPE: dict[str, int] = {
    "NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 2, "BertNormalizer": 24, "ByteLevel": 4, "Metaspace": 2,
    "WordPiece": 2, "CTC": 2,
}  # fmt: skip
_PARTS = ("normalizer", "pre_tokenizer", "post_processor"), ("decoder",)


def check_growth(content: Mapping[str, Any]) -> None:
    """ValueError if the rules of a tokenizer.json could make a text more than `MOST_GROWTH` times as long."""
    for parts in _PARTS:
        refuse_growth(prod((_factor(rule) for part in parts for rule in _rules(content.get(part))), start=1.0))


def refuse_growth(times: float) -> None:
    """ValueError for more than `MOST_GROWTH`."""
    if times > MOST_GROWTH:
        raise ValueError(f"its rules could make a text more than {MOST_GROWTH:,} times as long")


def longest_replacement(characters: bytes) -> int:
    """The most bytes that SentencePiece's compiled map of characters puts in the place of one.

    The map is the size of a tree, the tree, and all replacements with a NUL behind each.
    """
    if len(characters) < 4:
        return 1
    (size,) = struct.unpack("<I", characters[:4])
    return max(map(len, characters[4 + size :].split(b"\0")), default=1) or 1


def _rules(part: Any) -> Iterator[Mapping[str, Any]]:
    """Every rule in a part of the file, however deep."""
    return (value for value in nested(part) if isinstance(value, Mapping) and "type" in value)


def nested(part: Any) -> Iterator[Any]:
    """A value of a JSON file, and all values within it, however deep."""
    yield part
    within = part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ()
    for value in within:
        yield from nested(value)


def _factor(rule: Mapping[str, Any]) -> float:
    """How many characters one can become by a rule."""
    match rule:
        case {"type": "Replace", "pattern": {"String": str(pattern)}, "content": str(content)} if pattern:
            return max(1.0, len(content) / len(pattern))
        case {"type": "Replace", "content": str(content)}:  # what a pattern finds may be empty, before and behind it
            return 1 + 2 * len(content)
        case {"type": "Prepend", "prepend": str(added)}:
            return 1 + len(added)
        case {"type": "Precompiled", "precompiled_charsmap": str(encoded)}:
            return longest_replacement(base64.b64decode(encoded))
        case {"type": "TemplateProcessing", "single": list(single), "pair": list(pair)}:
            return max(1, _texts(single), _texts(pair) / 2)
        case {"type": str(name)}:
            return _BY_TYPE.get(name, 1)
    return 1


def _texts(template: list[Any]) -> int:
    """How often a template puts a text."""
    return sum("Sequence" in entry for entry in template)


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
        if not may_be_slow:
            return work()
        outcome: Future[Result] = Future()

        def run() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:  # it belongs to the thread that waits
                outcome.set_exception(error)

        Thread(target=run, daemon=True).start()
        return outcome.result()
