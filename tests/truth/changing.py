"""Production code changed for the length of a `with`: one expression of a function, or one value of a table.

A function gets other code, not another object, so whoever imported it before calls the changed one.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, Protocol

from pydantic import BaseModel


class Change(Protocol):
    """One change of production code."""

    @property
    def place(self) -> str:
        """What is changed: a qualified name."""
        ...

    @property
    def words(self) -> str:
        """What it said, and what it says instead."""
        ...

    def made(self) -> AbstractContextManager[None]:
        """As long as it is entered, the change is there."""
        ...


@dataclass(frozen=True)
class Expression:
    """A piece of a function's source that says something else. ValueError if it is not there just once."""

    function: Callable[..., Any]
    old: str
    new: str

    @property
    def place(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def words(self) -> str:
        return f"`{_line(self.old)}` {f'becomes `{_line(self.new)}`' if self.new else 'is left out'}"

    @contextmanager
    def made(self) -> Iterator[None]:
        function: Any = inspect.unwrap(self.function)  # beneath what checks shapes in tests
        before = function.__code__
        function.__code__ = self._code(function)
        try:
            yield
        finally:
            function.__code__ = before

    def _code(self, function: Any) -> CodeType:
        source = textwrap.dedent(inspect.getsource(function))
        if source.count(self.old) != 1:
            raise ValueError(f"{self.place}: {self.old!r} stands there {source.count(self.old)} times")
        # Inside of a class, as `super()` in a method wants it; the class is never made.
        changed = "class _:\n" + textwrap.indent(source.replace(self.old, self.new), "    ")
        return next(
            code for code in _within(compile(changed, "<changed>", "exec")) if code.co_name == function.__name__
        )


def _line(source: str) -> str:
    return "; ".join(map(str.strip, source.split("\n")))


def _within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _within(constant)


@dataclass(frozen=True, eq=False)
class Item:
    """A value of a table that is another one. `place` names it."""

    place: str
    table: MutableMapping[str, Any]
    key: str
    new: Any

    @property
    def words(self) -> str:
        return f"{self.key} is `{self.new}`"

    @contextmanager
    def made(self) -> Iterator[None]:
        before = self.table[self.key]
        self.table[self.key] = self.new
        try:
            yield
        finally:
            self.table[self.key] = before


@dataclass(frozen=True)
class Default:
    """Another default of a setting."""

    settings: type[BaseModel]
    key: str
    new: Any

    @property
    def place(self) -> str:
        return f"{self.settings.__module__}.{self.settings.__qualname__}"

    @property
    def words(self) -> str:
        return f"the default of {self.key} is `{self.new}`"

    @contextmanager
    def made(self) -> Iterator[None]:
        field = self.settings.model_fields[self.key]
        before = field.default
        self._set(self.new)
        try:
            yield
        finally:
            self._set(before)

    def _set(self, value: Any) -> None:
        self.settings.model_fields[self.key].default = value
        self.settings.model_rebuild(force=True)
