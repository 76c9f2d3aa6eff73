"""Options of another toolkit's file, with their values and places, and reading them from YAML."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from openwork.base.errors import DataError

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
    if word not in (*_YES, *_NO):
        raise ValueError(f"{value} is neither true nor false")
    return word in _YES


def negated(value: Value) -> bool:
    """The opposite of what `boolean` reads."""
    return not boolean(value)


def at_least_one(value: Value) -> int:
    """A whole number, raised to 1."""
    return max(1, integer(value))


def not_negative(value: Value) -> int | None:
    """A whole number; None for one below nought, which stands for no limit."""
    found = integer(value)
    return found if found >= 0 else None


def is_alike(value: Value, other: Any) -> bool:
    """Whether both say the same, as numbers where the other is one, else in any case."""
    if isinstance(other, bool) or not isinstance(other, int | float):
        return value == other or str(value).lower() == str(other).lower()
    try:
        return number(value) == other
    except (ValueError, TypeError):
        return False


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


MOST_VALUES = 20_000
"""Values that a configuration may have: aliases of aliases could make billions."""
DEEPEST = 50
_BRACKETS = re.compile(r"[\[\]{}]")


def read_yaml(text: str, file: str) -> list[ExternalOption]:
    """The options of nested mappings as dotted names, in the order of the file; DataError where it is no such YAML."""
    try:
        if _nesting(text) > DEEPEST:  # the library would need seconds
            raise RecursionError
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise DataError(
                f"{file}: not a table of options",
                why="the file holds no `name: value` pairs",
                hint="give a configuration in YAML, or a file with the command line",
                code="D088",
            )
        return list(_Traversal(loader, file).options(root, "", 0))
    except yaml.YAMLError as error:
        place = _place(error, file, text)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None)
        raise DataError(
            f"{place}: not valid YAML",
            why=str(problem) if problem else str(error).splitlines()[0],
            hint="correct the YAML at that line",
            code="D089",
        ) from error
    except RecursionError as error:
        raise DataError(
            f"{file}: nested too deeply",
            why="no configuration needs so many levels",
            hint="check that this is the right file",
            code="D087",
        ) from error


def _nesting(text: str) -> int:
    """How many brackets are open at once, at most; those in quotes and comments are counted as well."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth = max(0, depth + (1 if bracket in "[{" else -1))
        deepest = max(deepest, depth)
    return deepest


class _Traversal:
    def __init__(self, loader: yaml.SafeLoader, file: str) -> None:
        self.loader = loader
        self.file = file
        self.values = 0

    def options(self, node: yaml.MappingNode, prefix: str, depth: int) -> Iterator[ExternalOption]:
        self._count(node, depth)
        self.loader.flatten_mapping(node)  # `<<: *base`
        for key_node, value_node in node.value:
            name = f"{prefix}{key_node.value if isinstance(key_node, yaml.ScalarNode) else '?'}"
            if isinstance(value_node, yaml.MappingNode) and value_node.value:
                yield from self.options(value_node, f"{name}.", depth + 1)
            else:
                value = self._value(value_node, depth + 1)
                yield ExternalOption(name, name, value, self.file, key_node.start_mark.line + 1)

    def _value(self, node: yaml.Node, depth: int) -> Any:
        self._count(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, depth + 1) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            self.loader.flatten_mapping(node)
            return {str(key.value): self._value(item, depth + 1) for key, item in node.value}
        try:
            value = self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            value = node.value  # a tag of another program, such as !include, or a number too long to read
        return value if value is None or isinstance(value, str | bool | int | float) else str(node.value)

    def _count(self, node: yaml.Node, depth: int) -> None:
        self.values += 1
        if self.values > MOST_VALUES or depth > DEEPEST:
            raise DataError(
                f"{self.file}:{node.start_mark.line + 1}: more values than a configuration has",
                why="aliases (*name) may repeat their values without end",
                hint="write the options out without aliases",
                code="D090",
            )


def _place(error: yaml.YAMLError, file: str, text: str) -> str:
    line = None
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
    elif isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, int(error.position)) + 1
    return f"{file}:{line}" if line else file
