"""Lines of our own source code, to be shown beside what they calculate."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openwork

_ABOVE = Path(openwork.__file__).resolve().parents[1]  # the folder that holds the package


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
