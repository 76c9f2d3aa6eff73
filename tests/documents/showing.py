"""Texts with marks, written and read as a test can show them: [0:bold:0] is a pair, [1] alone, [1=code] with a text."""

import re
from collections.abc import Iterable

from openwork.documents.segments import Mark, Parts, Role, joined, marks_of

_MARK = re.compile(r"\[(\d+):|:(\d+)\]|\[(\d+)(?:=([^\]]*))?\]")


def shown(parts: Parts) -> str:
    """The parts as text."""
    return "".join(part if isinstance(part, str) else _shown(part) for part in parts)


def _shown(mark: Mark) -> str:
    if mark.role is Role.OPEN:
        return f"[{mark.key}:"
    if mark.role is Role.CLOSE:
        return f":{mark.key}]"
    return f"[{mark.key}={mark.text}]" if mark.text else f"[{mark.key}]"


def parts_of(text: str) -> Parts:
    """What `shown` has written."""
    found: list[str | Mark] = []
    place = 0
    for one in _MARK.finditer(text):
        opened, closed, alone, kept = one.groups()
        found.append(text[place : one.start()])
        role = Role.OPEN if opened else Role.CLOSE if closed else Role.ALONE
        found.append(Mark(int(opened or closed or alone), role, kept or ""))
        place = one.end()
    return joined([*found, text[place:]])


def is_well_formed(parts: Iterable[str | Mark]) -> bool:
    """Whether each closing mark ends the last mark that is open, and none is left open."""
    opened: list[int] = []
    for mark in marks_of(parts):
        if mark.role is Role.OPEN:
            opened.append(mark.key)
        elif mark.role is Role.CLOSE and (not opened or opened.pop() != mark.key):
            return False
    return not opened


def has_same_marks(one: Iterable[str | Mark], other: Iterable[str | Mark]) -> bool:
    """Whether both have the same marks, each as often."""

    def counted(parts: Iterable[str | Mark]) -> list[tuple[int, str, str]]:
        return sorted((mark.key, mark.role.name, mark.text) for mark in marks_of(parts))

    return counted(one) == counted(other)
