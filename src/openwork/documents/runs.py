"""A run of text and tags within a document: which part of it is translated, and how its translation is written."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from openwork.documents.segments import Mark, Parts, Role, Tag, joined, marks_of, paired

SPACES = " \t\n\r\f"  # a no-break space is a character of the text
_SPACES = re.compile(f"[{SPACES}]+")


@dataclass(frozen=True)
class Piece:
    """A text or a tag, and where it is in the document: `document[start:end]`."""

    item: str | Tag
    start: int
    end: int


@dataclass(frozen=True)
class TextRun:
    """The part of a run that is translated.

    Attributes:
        parts: its text, each run of white space as one space.
        pieces: its texts and tags.
        start, end: where it is in the document.
    """

    parts: Parts
    pieces: tuple[Piece, ...]
    start: int
    end: int

    def tags(self) -> dict[tuple[int, Role], Piece]:
        """Its tags by the key and role of their marks."""
        tags = [piece for piece in self.pieces if isinstance(piece.item, Tag)]
        return {(mark.key, mark.role): tag for mark, tag in zip(marks_of(self.parts), tags, strict=True)}


def run_of(pieces: Sequence[Piece]) -> TextRun | None:
    """What is translated of a run: from its first words to its last. None if it has no words.

    White space, tags without words and pairs of tags around all words are left out at both ends.
    """
    items = [piece.item for piece in pieces]
    start, end = _trimmed(items)
    if not any(isinstance(item, str) and item.strip(SPACES) for item in items[start:end]):
        return None
    kept = tuple(pieces[start:end])
    parts = joined(_with_single_spaces(paired([piece.item for piece in kept])))
    return TextRun(parts, kept, kept[0].start, kept[-1].end)


def spaced(text: str, start: int, end: int) -> list[Piece]:
    """The pieces of a text without tags that is at `start`: the spaces around its words are pieces of their own.

    `text` stands for all characters from `start` to `end`, of which it may have fewer, such as for an entity.
    """
    words = text.strip(SPACES)
    if not words:
        return [Piece(text, start, end)]
    before = len(text) - len(text.lstrip(SPACES))
    after = len(text) - len(text.rstrip(SPACES))
    pieces = [
        Piece(text[:before], start, start + before),
        Piece(words, start + before, end - after),
        Piece(text[len(text) - after :], end - after, end),
    ]
    return [piece for piece in pieces if piece.item]


def single_spaced(text: str) -> str:
    """The text with each run of white space as one space."""
    return _SPACES.sub(" ", text)


def composed(parts: Iterable[str | Mark], escape: Callable[[str], str], tag: Callable[[Mark], str]) -> str:
    """A translation as the document has it: its texts escaped, and the tags of its marks."""
    return "".join(tag(part) if isinstance(part, Mark) else escape(part) for part in parts)


def _with_single_spaces(parts: Parts) -> Iterable[str | Mark]:
    return (single_spaced(part) if isinstance(part, str) else part for part in parts)


def _trimmed(items: Sequence[str | Tag]) -> tuple[int, int]:
    """The first item that is translated, and the one after the last. Linear time."""
    partner = _partner_places(items)
    words = [0, *accumulate(_has_words(item) for item in items)]
    start, end = 0, len(items)
    while start < end:
        if not _has_words(items[start]) and (start not in partner or words[partner[start]] == words[start]):
            start = partner.get(start, start) + 1
        elif not _has_words(items[end - 1]) and (end - 1 not in partner or words[end] == words[partner[end - 1]]):
            end = partner.get(end - 1, end - 1)
        elif partner.get(start) == end - 1:
            start, end = start + 1, end - 1
        else:
            break
    return start, end


def _partner_places(items: Sequence[str | Tag]) -> dict[int, int]:
    """The places of tags that are pairs, each by the other."""
    places = [place for place, item in enumerate(items) if isinstance(item, Tag)]
    partner: dict[int, int] = {}
    opened: dict[int, int] = {}
    for mark, place in zip(marks_of(paired(items)), places, strict=True):
        if mark.role is Role.OPEN:
            opened[mark.key] = place
        elif mark.role is Role.CLOSE:
            partner[place], partner[opened[mark.key]] = opened[mark.key], place
    return partner


def _has_words(item: str | Tag) -> bool:
    return bool((item if isinstance(item, str) else item.text).strip(SPACES))
