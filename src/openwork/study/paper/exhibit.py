"""One object of the paper: its formula and text, its numbers when they are asked for, and its lines of code."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import openwork
from openwork.inspection.trace import Trace
from openwork.study.studies.study import Figures

_ABOVE = Path(openwork.__file__).resolve().parents[1]  # the folder that holds the package


class Computed(NamedTuple):
    """The numbers of an object, made by the production code: steps of a calculation, tables, plain values.

    `drawing`: the lines of a figure.
    """

    trace: Trace | None = None
    tables: tuple[Figures, ...] = ()
    values: Mapping[str, Any] = MappingProxyType({})
    drawing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exhibit:
    """One object.

    Args:
        name: as in the list of contents.
        formula: as text; empty where the object is none.
        text: what it says and where ours departs from it, in our own words, a paragraph each.
        code: the functions and classes that are this object here; their lines are read when they are shown.
        tests: what holds the code to it, as FILE::FUNCTION from the root of the repository.
        compute: makes the numbers.
    """

    name: str
    formula: str
    text: tuple[str, ...]
    code: tuple[Callable[..., Any], ...]
    tests: tuple[str, ...]
    compute: Callable[[], Computed]


EXHIBITS: dict[str, Exhibit] = {}


def exhibit(
    name: str, code: tuple[Callable[..., Any], ...], *tests: str, formula: str = ""
) -> Callable[[Callable[[], Computed]], Callable[[], Computed]]:
    """Makes an exhibit of the function that computes its numbers; the function's docstring is the exhibit's text."""

    def add(compute: Callable[[], Computed]) -> Callable[[], Computed]:
        paragraphs = (inspect.getdoc(compute) or "").split("\n\n")
        text = tuple(" ".join(paragraph.split()) for paragraph in paragraphs)
        EXHIBITS[name] = Exhibit(name, formula, text, code, tests, compute)
        return compute

    return add


@dataclass(frozen=True)
class CodeLines:
    """Lines of a source file; `file` begins with the package's name, `last` is the last line's number.

    `name` is the object's within its module: "MultiHeadAttention.forward".
    """

    module: str
    name: str
    file: str
    first: int
    last: int
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": f"{self.module}.{self.name}",
            "file": self.file,
            "first_line": self.first,
            "last_line": self.last,
            "source": "\n".join(self.lines),
        }


def code_lines(made: Callable[..., Any]) -> CodeLines:
    """The lines of a function, method or class of ours, decorators included, without their common indentation."""
    plain = inspect.unwrap(made)
    lines, first = inspect.getsourcelines(plain)
    file = Path(inspect.getfile(plain)).resolve().relative_to(_ABOVE)
    text = inspect.cleandoc("\n" + "".join(lines)).splitlines()
    return CodeLines(plain.__module__, plain.__qualname__, file.as_posix(), first, first + len(lines) - 1, tuple(text))
