"""Texts with marks, written and read as a test can show them: [0:bold:0] is a pair, [1] alone, [1=code] with a text."""

import re

from openwork.documents.segments import Mark, Parts, Role, joined

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
