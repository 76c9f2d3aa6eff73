"""An extension of Griffe: examples of docstrings are shown as code, and settings are described by their fields."""

import ast
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


def _description(value: str) -> str:
    """Of a field of settings, `Field(..., description="...")` or `option(default, "...")`; empty of everything else."""
    call = ast.parse(value, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return ""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "description"]
    for text in [*named, *(call.args[1:2] if call.func.id == "option" else ())]:
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            return text.value
    return ""


class Docstrings(griffe.Extension):
    """Changes docstrings before they are shown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Puts each example into a fence, and gives each field of settings its description."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = _fenced(obj.docstring.value)
        if isinstance(obj, griffe.Attribute) and obj.docstring is None and obj.value is not None:
            description = _description(str(obj.value))
            if description:
                obj.docstring = griffe.Docstring(description[0].upper() + description[1:] + ".", parent=obj)
