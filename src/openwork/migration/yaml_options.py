"""Reads the options of a YAML file, each with its line; constructs nothing but plain values."""

import re
from typing import Any

import yaml

from openwork.base.errors import DataError
from openwork.migration.options import ExternalOption

MOST_VALUES = 20_000
"""Values that a configuration may have: aliases of aliases could make billions."""
DEEPEST = 50
_BRACKETS = re.compile(r"[\[\]{}]")


def read_yaml(text: str, file: str) -> list[ExternalOption]:
    """The options of nested mappings as dotted names, in the order of the file; DataError where it is no such YAML."""
    loader = None
    if _nesting(text) > DEEPEST:  # the library would need seconds
        raise DataError(
            f"{file}: nested too deeply",
            why="no configuration needs so many levels",
            hint="check that this is the right file",
            code="D087",
        )
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise DataError(
                f"{file}: not a table of options",
                why="the file holds no `name: value` pairs",
                hint="give a configuration in YAML, or a file with the command line",
                code="D088",
            )
        return _Traversal(loader, file).options(root)
    except yaml.YAMLError as error:
        place = _place(error, file, text)
        raise DataError(
            f"{place}: not valid YAML", why=_why(error), hint="correct the YAML at that line", code="D089"
        ) from error
    except RecursionError as error:
        raise DataError(
            f"{file}: nested too deeply",
            why="no configuration needs so many levels",
            hint="check that this is the right file",
            code="D087",
        ) from error
    finally:
        if loader is not None:
            loader.dispose()


def _nesting(text: str) -> int:
    """How many brackets are open at once, at most; those in quotes and comments are counted as well."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth = max(0, depth + (1 if bracket in "[{" else -1))
        deepest = max(deepest, depth)
    return deepest


class _Traversal:
    """Traverses a tree of nodes."""

    def __init__(self, loader: yaml.SafeLoader, file: str) -> None:
        self.loader = loader
        self.file = file
        self.values = 0

    def options(self, root: yaml.MappingNode) -> list[ExternalOption]:
        found: list[ExternalOption] = []
        self._mapping(root, "", found, 0)
        return found

    def _mapping(self, node: yaml.MappingNode, prefix: str, found: list[ExternalOption], depth: int) -> None:
        self._count(node, depth)
        self.loader.flatten_mapping(node)  # `<<: *base`
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            name = f"{prefix}{key}"
            if isinstance(value_node, yaml.MappingNode) and value_node.value:
                self._mapping(value_node, f"{name}.", found, depth + 1)
            else:
                value = self._value(value_node, depth + 1)
                found.append(ExternalOption(name, name, value, self.file, key_node.start_mark.line + 1))

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


def _why(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(problem) if problem else str(error).splitlines()[0]
