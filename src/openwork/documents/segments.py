"""A text of a document: words, and the marks within them that stand for tags and for what is not translated."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class Role(Enum):
    """What a mark stands for."""

    OPEN = auto()  # an opening tag; its closing tag is in the same text
    CLOSE = auto()
    ALONE = auto()  # a tag without content, or a tag whose other half is not in the text


@dataclass(frozen=True)
class Mark:
    """Something within a text that every translation has exactly once.

    Attributes:
        key: its number in the text, from 0; an opening tag and its closing tag have the same.
        role: what it stands for.
        text: of a mark that is alone: what a reader sees in its place, which stays as it is, such as a piece of code.
    """

    key: int
    role: Role
    text: str = ""


Parts = tuple[str | Mark, ...]
"""A text with its marks, in order; no two strings follow each other, and none is empty."""


@dataclass(frozen=True)
class TranslationUnit:
    """A text to translate.

    Attributes:
        parts: the text and its marks.
        place: where it is, for reports: "line 12", "unit a1".
        current: the translation that the document has already, if any.
        is_translated: whether `current` is final, and not a draft or a copy of the source.
        is_line: whether the text is one line of a listing, which is not cut into sentences.
    """

    parts: Parts
    place: str
    current: Parts = ()
    is_translated: bool = False
    is_line: bool = False

    @property
    def text(self) -> str:
        """The text as a reader sees it, without marks."""
        return plain(self.parts)


def plain(parts: Iterable[str | Mark]) -> str:
    """The text as a reader sees it: strings, and the texts of marks."""
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def joined(parts: Iterable[str | Mark]) -> Parts:
    """The parts with neighbouring strings as one, and without empty ones."""
    found: list[str | Mark] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


def marks_of(parts: Iterable[str | Mark]) -> Iterator[Mark]:
    """The marks of a text, in order."""
    return (part for part in parts if isinstance(part, Mark))


@dataclass(frozen=True)
class Tag:
    """A tag as a format reads it, before it is known which tags are a pair.

    `name`: what a closing tag has in common with its opening tag. `text`: as of `Mark`.
    """

    name: str
    role: Role
    text: str = ""


def paired(items: Sequence[str | Tag]) -> Parts:
    """A text with tags as one with marks; the n-th tag that begins a mark gives it its key.

    A closing tag belongs to the last open tag of its name. Tags that were opened after that one, and those without a
    partner in the text, are marks that are alone. `tags_by_key` says which tags a key has.
    """
    partner = _partners(items)
    parts: list[str | Mark] = []
    keys: dict[int, int] = {}
    count = 0
    for place, item in enumerate(items):
        if isinstance(item, str):
            parts.append(item)
            continue
        other = partner.get(place)
        if other is None:
            parts.append(Mark(count, Role.ALONE, item.text))
            count += 1
        elif item.role is Role.OPEN:
            keys[place] = keys[other] = count
            count += 1
            parts.append(Mark(keys[place], Role.OPEN))
        else:
            parts.append(Mark(keys[place], Role.CLOSE))
    return joined(parts)


def tags_by_key(items: Sequence[str | Tag]) -> dict[tuple[int, Role], Tag]:
    """The tags of `paired(items)` by the key and role of their marks."""
    tags = [item for item in items if isinstance(item, Tag)]
    return {(mark.key, mark.role): tag for mark, tag in zip(marks_of(paired(items)), tags, strict=True)}


def _partners(items: Sequence[str | Tag]) -> dict[int, int]:
    """The places of tags that are pairs, each by the other. Linear time: each tag is opened and dropped once."""
    found: dict[int, int] = {}
    opened: list[int] = []
    depths: dict[str, list[int]] = {}  # of the open tags of each name
    for place, item in enumerate(items):
        if isinstance(item, str) or item.role is Role.ALONE:
            continue
        if item.role is Role.OPEN:
            depths.setdefault(item.name, []).append(len(opened))
            opened.append(place)
        elif depths.get(item.name):
            depth = depths[item.name][-1]
            found[opened[depth]], found[place] = place, opened[depth]
            for dropped in opened[depth:]:
                depths[_name(items, dropped)].pop()
            del opened[depth:]
    return found


def _name(items: Sequence[str | Tag], place: int) -> str:
    item = items[place]
    assert isinstance(item, Tag)
    return item.name
