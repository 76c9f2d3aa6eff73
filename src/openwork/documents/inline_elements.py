"""Texts of XML formats, with elements inside them, as texts with marks; and back."""

from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from openwork.documents.segments import Mark, Parts, Role, Tag, joined, marks_of, paired
from openwork.documents.xml_file import MOST_MARKS, Element, local_name, text_of, too_many, xml_text

_NAMING = ("id", "x", "i", "startRef")  # attributes that name an element, and agree in source and target
_ITS = "{http://www.w3.org/2005/11/its}translate"


class InlineRole(Enum):
    """What an element within a text becomes."""

    AROUND = auto()  # a pair of marks around its content
    BEGIN = auto()  # a mark; a pair if the element that ends it is in the same text
    END = auto()
    WHOLE = auto()  # one mark for it and all that is in it


@dataclass(frozen=True)
class InlineKind:
    """How an element is read. `pair` and `by`: the name of its kind of pair, and the attributes that name the pair."""

    inline: InlineRole
    pair: str = ""
    by: tuple[str, ...] = ()


Kinds = Mapping[str, InlineKind]
"""By local name; elements that are not in it are `WHOLE`."""

_WHOLE = InlineKind(InlineRole.WHOLE)


def split_edges(parts: Parts) -> tuple[str, Parts, str]:
    """The whitespace before a text, the text, and the whitespace behind it."""
    before = after = ""
    found = list(parts)
    if found and isinstance(first := found[0], str):
        found[0] = first.lstrip()
        before = first[: len(first) - len(found[0])]
    if found and isinstance(last := found[-1], str):
        found[-1] = last.rstrip()
        after = last[len(found[-1]) :]
    return before, joined(found), after


def has_words(parts: Parts) -> bool:
    """Whether there is anything to translate: a text beside marks."""
    return any(isinstance(part, str) and part.strip() for part in parts)


class InlineText:
    """The content of an element, such as `<source>`.

    Attributes:
        parts: the text and its marks, without the whitespace at its edges.
    """

    parts: Parts

    def __init__(self, element: Element, kinds: Kinds, path: Path) -> None:
        """DataError for a text of too many marks: pairs are looked for in a time with the square of their number."""
        self._kinds = kinds
        self._items: list[str | Tag] = []
        self._elements: list[Element] = []  # of each tag
        self._count = 0  # elements whose content was read
        self._collect(element)
        if len(self._elements) > MOST_MARKS:
            raise too_many(path, element.sourceline)
        parts = paired(self._items)
        marks = [(mark.key, mark.role) for mark in marks_of(parts)]
        self._by_mark = dict(zip(marks, self._elements, strict=True))
        self._before, self.parts, self._after = split_edges(parts)

    def keyed_as(self, source: "InlineText") -> Parts:
        """The parts, with the keys of the source for marks of the same elements."""
        free: dict[tuple[Role, str, str], deque[int]] = {}
        for (key, role), element in source._by_mark.items():
            free.setdefault((role, *_naming(element)), deque()).append(key)
        keys: dict[int, int] = {}
        fresh = len(source._by_mark)
        for (key, role), element in self._by_mark.items():
            if role is not Role.CLOSE:
                known = free.get((role, *_naming(element)))
                keys[key] = known.popleft() if known else fresh
                fresh += not known
        return tuple(
            part if isinstance(part, str) else Mark(keys[part.key], part.role, part.text) for part in self.parts
        )

    def fill(self, target: Element, translation: Parts) -> None:
        """Makes a translation the content of `target`, with copies of this text's elements."""
        for child in list(target):
            target.remove(child)
        target.text = None
        parents = [target]
        for part in (self._before, *translation, self._after):
            if isinstance(part, str):
                _append_text(parents[-1], xml_text(part))
                continue
            element = self._by_mark[part.key, part.role]
            is_around = self._kind(element).inline is InlineRole.AROUND and part.role is not Role.ALONE
            if is_around and part.role is Role.CLOSE:
                parents.pop()
                continue
            copy = element.makeelement(element.tag, element.attrib, element.nsmap) if is_around else deepcopy(element)
            copy.tail = None
            parents[-1].append(copy)
            if is_around:
                parents.append(copy)

    def _kind(self, element: Element) -> InlineKind:
        if element.get("translate") == "no" or element.get(_ITS) == "no" or element.get("mtype") == "protected":
            return _WHOLE
        return self._kinds.get(local_name(element), _WHOLE)

    def _collect(self, element: Element) -> None:
        """Tags of elements are pairs within one parent alone, so that marks that are well-formed give elements."""
        self._count += 1
        parent = str(self._count)
        self._items.append(element.text or "")
        for child in element:
            if isinstance(child.tag, str):
                self._collect_child(child, parent)
            self._items.append(child.tail or "")

    def _collect_child(self, child: Element, parent: str) -> None:
        kind = self._kind(child)
        if kind.inline is InlineRole.AROUND:
            name = f"around {self._count}"
            self._add(Tag(name, Role.OPEN), child)
            self._collect(child)
            self._add(Tag(name, Role.CLOSE), child)
            return
        named = next((value for key in kind.by if (value := child.get(key)) is not None), None)
        if kind.inline is InlineRole.WHOLE or named is None:
            text = text_of(child) if local_name(child) == "mrk" else ""
            self._add(Tag("", Role.ALONE, text), child)
        else:
            role = Role.OPEN if kind.inline is InlineRole.BEGIN else Role.CLOSE
            self._add(Tag(f"{kind.pair} {named} in {parent}", role), child)

    def _add(self, tag: Tag, element: Element) -> None:
        self._items.append(tag)
        self._elements.append(element)


def _naming(element: Element) -> tuple[str, str]:
    return local_name(element), next((value for key in _NAMING if (value := element.get(key)) is not None), "")


def _append_text(parent: Element, text: str) -> None:
    if not text:
        return
    last = next(parent.iterchildren(reversed=True), None)  # lxml counts children one by one for len() and [-1]
    if last is None:
        parent.text = (parent.text or "") + text
    else:
        last.tail = (last.tail or "") + text
