"""Texts with marks for tests: any text, and other translations with the same marks."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as some

from openwork.documents.document import Document, DocumentSettings
from openwork.documents.runs import single_spaced
from openwork.documents.segments import Mark, Parts, Role, joined, marks_of

SPECIAL = [*list("<>&;*_[](){}#|~\\`\"'!-+=.1: "), "&amp;", "<b>", "</p>", "**", "](x)", "[r]", "<!--", "{\\an8}"]
CHARACTERS = some.characters(exclude_categories=["Cs", "Cc"]) | some.sampled_from([*SPECIAL, *"你好，。「」"])
TEXTS = some.lists(CHARACTERS, max_size=12).map("".join)
NO_SETTINGS = DocumentSettings()

Read = Callable[[bytes, Path, DocumentSettings], Document]


def reading(read: Read, text: str, name: str = "x") -> Document:
    return read(text.encode(), Path(name), NO_SETTINGS)


def parts_of(document: Document) -> list[Parts]:
    return [segment.parts for segment in document.segments]


def changed(parts: Parts, change: Callable[[str], str]) -> Parts:
    return tuple(part if isinstance(part, Mark) else change(part) for part in parts)


def assert_stays(read: Read, content: bytes, name: str = "x") -> Document:
    """Neither no translation nor each text as its own translation changes a byte."""
    document = read(content, Path(name), NO_SETTINGS)
    assert document.written([None] * len(document.segments)) == content
    assert document.written(parts_of(document)) == content
    return document


def renumbered(parts: Parts) -> Parts:
    """The marks numbered in the order in which they come, and each white space as one space, as a reader sees it."""
    keys: dict[int, int] = {}
    for mark in marks_of(parts):
        keys.setdefault(mark.key, len(keys))
    return joined(
        Mark(keys[part.key], part.role, part.text) if isinstance(part, Mark) else single_spaced(part) for part in parts
    )


@some.composite
def arrangements(draw: some.DrawFn, parts: Parts, texts: some.SearchStrategy[str] = TEXTS) -> Parts:
    """A translation: the same marks in any well-formed order, with any texts between; it begins and ends with words."""
    marks = list(marks_of(parts))
    closes = {mark.key: mark for mark in marks if mark.role is Role.CLOSE}
    found: list[Mark] = []
    for mark in draw(some.permutations([mark for mark in marks if mark.role is not Role.CLOSE])):
        place = draw(some.integers(0, len(found)))
        found.insert(place, mark)
        if mark.key not in closes:
            continue
        ends, depth = [place + 1], 0
        for end in range(place + 1, len(found)):
            depth += {Role.OPEN: 1, Role.CLOSE: -1, Role.ALONE: 0}[found[end].role]
            if depth < 0:
                break
            if depth == 0:
                ends.append(end + 1)
        found.insert(draw(some.sampled_from(ends)), closes[mark.key])
    between = [item for mark in found for item in (mark, draw(texts))]
    return joined(["a" + draw(texts), *between, draw(texts) + "b"])
