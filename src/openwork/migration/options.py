"""Options of another toolkit's file, with their values and places, and functions that read values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Value = Any
"""True for an option without words, a text, a list of texts, or any plain value of a YAML file."""
Reader = Callable[[Value], Any]

_YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0")


@dataclass(frozen=True)
class ExternalOption:
    """One option of a file.

    `name` is what the toolkit's table calls it ("max-tokens", "training.batch_size"), `shown` how it is written there.
    """

    name: str
    shown: str
    value: Value
    file: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The option with its value, as it was written, cut where it is long."""
        alone = self.value == "" or (self.value is True and self.shown.startswith("-"))
        return show(self.shown) if alone else f"{show(self.shown)} {show(self.value)}"


def show(value: Value, longest: int = 60) -> str:
    """A value in one short line."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        text = " ".join(show(item) for item in value)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def integer(value: Value) -> int:
    """A whole number, also written as a text or as 1e5; of a list with one entry, that entry."""
    found = number(value)
    if found != int(found):
        raise ValueError(f"{value} is not a whole number")
    return int(found)


def number(value: Value) -> float:
    """A number, also written as a text; a list counts if it has one entry."""
    one = single(value)
    if isinstance(one, bool) or one is None:
        raise ValueError(f"{value} is not a number")
    found = float(one)
    if not -1e300 < found < 1e300:
        raise ValueError(f"{value} is no number to count with")
    return found


def boolean(value: Value) -> bool:
    """True for an option without words; else what yes, no, true, false, 1 or 0 say."""
    word = str(single(value)).lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise ValueError(f"{value} is neither true nor false")


def negated(value: Value) -> bool:
    """The opposite of what `boolean` reads."""
    return not boolean(value)


def at_least_one(value: Value) -> int:
    """A whole number, raised to 1."""
    return max(1, integer(value))


def present(value: Value) -> bool:
    """Whether the text is not empty."""
    return bool(text(value))


def text(value: Value) -> str:
    """One word."""
    one = single(value)
    if isinstance(one, bool) or one is None:
        raise ValueError(f"{value} is not a text")
    return str(one)


def words(value: Value) -> list[str]:
    """All words, a list or a single one."""
    if isinstance(value, bool) or value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def numbers(value: Value) -> list[float]:
    """The numbers of a list, or of a text such as (0.9, 0.98), 0.9:0.98 or 0.9 0.98."""
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return [number(item) for item in value]
    joined = " ".join(words(value))
    for mark in "()[],:":
        joined = joined.replace(mark, " ")
    return [float(part) for part in joined.split()]


def single(value: Value) -> Any:
    """The value itself, or the only entry of a list; ValueError for a list with none or several."""
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise ValueError(f"{len(value)} values where one is meant")
    return value[0]
