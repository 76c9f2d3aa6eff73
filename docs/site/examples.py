"""An extension of Griffe: the examples of docstrings, which begin with >>>, are shown as code."""

from typing import Any

import griffe


def _fenced(text: str) -> str:
    lines, inside = [], False
    for line in text.splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not inside:
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.lstrip() if inside else line)
    return "\n".join([*lines, "```"] if inside else lines)


class Examples(griffe.Extension):
    """Puts each example into a fence."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object once its docstring is known."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = _fenced(obj.docstring.value)
