"""Subtitles in SubRip and WebVTT: the text of each cue is a segment; times, names of cues and other blocks stay.

The lines of a cue are one text. A cue whose lines all begin with a dash is a dialogue: each line is a text of its own.
A translation has one line if it fits, else as many as before, or more if these would be too long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.documents.document import Document, DocumentSettings, decoded
from openwork.documents.formats.html_tokens import escaped, unescaped
from openwork.documents.lines import (
    LINE_END,
    UNSPACED,
    cut_lines,
    encoded,
    is_unspaced,
    one_line,
    without_byte_order_mark,
)
from openwork.documents.runs import Piece, TextRun, composed, run_of, spaced
from openwork.documents.segments import Mark, Parts, Role, Tag, TranslationUnit

WIDTH = 42  # columns of a line, of which a Chinese character takes two

_TIMES = re.compile(r"[ \t]*(?:\d{1,9}:)?\d{1,9}:\d{1,9}[.,]\d{1,9}[ \t]*-->")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
_DASH = re.compile(rf"(?:{_TAG.pattern}|[ \t])*+[-\u2010-\u2015][ \t]*(?=\S)")  # of a speaker
_TAG_NAME = re.compile(r"</?([A-Za-z]+)")
_TAG_START = re.compile(r"<(?=/?[A-Za-z]|\d+[:.>])|\{(?=\\)")
_ATOM = re.compile(rf"(?<!\s)\s(?!\s)|(?<={UNSPACED.pattern})(?={UNSPACED.pattern})")
# Characters that no line begins with, and those that no line ends with.
_NEVER_FIRST, _NEVER_LAST = frozenset("，。！？；：、”’）》」』】…—,.!?;:)"), frozenset("“‘（《「『【(")


@dataclass(frozen=True)
class _CueText:
    """A text of a cue: the lines `first` to `last` (exclusive), of which it fills the part from `run.start` on."""

    first: int
    last: int
    raw: str  # the lines as one
    run: TextRun


class Subtitles:
    """A file of subtitles."""

    def __init__(self, content: bytes, path: Path, *, is_web: bool) -> None:
        self._mark, text = without_byte_order_mark(decoded(content, path))
        self._lines = cut_lines(text)
        self._line_end = next((end for _, end in self._lines if end), "\n")
        self._is_web = is_web
        if is_web and not re.match(r"WEBVTT(?:[ \t]|$)", self._lines[0][0]):
            raise _no_subtitles(path, msg("a WebVTT file begins with a line WEBVTT"))
        cues = list(self._cues())
        if not is_web and not cues and text.strip():
            raise _no_subtitles(path, msg("no line has times, such as 00:00:01,000 --> 00:00:02,500"))
        self._texts = [text for first, last in cues for text in self._texts_of(first, last)]

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return [TranslationUnit(text.run.parts, f"line {text.first + 1}") for text in self._texts]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        lines = ["".join(line) for line in self._lines]
        for text, translation in zip(self._texts, translations, strict=True):
            if translation is not None and translation != text.run.parts:
                lines[text.first] = self._written(text, translation)
                for place in range(text.first + 1, text.last):
                    lines[place] = ""
        return encoded(self._mark + "".join(lines))

    def _cues(self) -> Iterator[tuple[int, int]]:
        """The first line of each cue's text, and the one after the last."""
        place, count = 0, len(self._lines)
        while place < count:
            place += 1
            if not _TIMES.match(self._lines[place - 1][0]):
                continue
            first = place
            while place < count and self._lines[place][0].strip() and not _TIMES.match(self._lines[place][0]):
                place += 1
            has_number = place < count and self._lines[place][0].strip() and self._lines[place - 1][0].strip().isdigit()
            last = place - 1 if has_number and place > first else place
            yield first, last

    def _texts_of(self, first: int, last: int) -> Iterator[_CueText]:
        lines = [line for line, _ in self._lines[first:last]]
        is_dialogue = len(lines) > 1 and all(map(_DASH.match, lines))
        for start, end in [(n, n + 1) for n in range(first, last)] if is_dialogue else [(first, last)]:
            raw = one_line("\n".join(line for line, _ in self._lines[start:end]))
            dash = _DASH.match(raw) if is_dialogue else None
            run = run_of(list(self._pieces(raw, dash.end() if dash else 0)))
            if run:
                yield _CueText(start, end, raw, run)

    def _pieces(self, raw: str, start: int) -> Iterator[Piece]:
        """The texts and tags of lines that are one."""
        for match in _TAG.finditer(raw, start):
            yield from self._text_pieces(raw, start, match.start())
            yield Piece(_tag(match.group()), match.start(), match.end())
            start = match.end()
        yield from self._text_pieces(raw, start, len(raw))

    def _text_pieces(self, raw: str, start: int, end: int) -> Iterator[Piece]:
        if start < end:
            text = raw[start:end]
            read = unescaped(text) if self._is_web else text
            yield from spaced(text, start, end) if read == text else [Piece(read, start, end)]

    def _written(self, text: _CueText, translation: Parts) -> str:
        """The lines of a cue with a translation, and the line end of the last."""
        tags = text.run.tags()

        def tag(mark: Mark) -> str:
            piece = tags[mark.key, mark.role]
            return text.raw[piece.start : piece.end]

        def escape(part: str) -> str:
            part = LINE_END.sub(" ", part)
            # WebVTT has escapes, but no tags in braces, which some players read all the same.
            return (
                escaped(part).replace("{\\", "{&#92;")
                if self._is_web
                else _TAG_START.sub(r"\g<0> ", part).replace("-->", "->")
            )

        whole = text.raw[: text.run.start] + composed(translation, escape, tag) + text.raw[text.run.end :]
        return self._line_end.join(_wrapped(whole, text.last - text.first)) + self._lines[text.last - 1][1]


def _tag(raw: str) -> Tag:
    name = _TAG_NAME.match(raw)
    if name is None:
        return Tag(raw, Role.ALONE)
    return Tag(name[1].lower(), Role.CLOSE if raw.startswith("</") else Role.OPEN)


def _wrapped(text: str, count: int) -> list[str]:
    """The text in lines of about the same width, cut between words or Chinese characters, and never within a tag."""
    atoms, glue = _atoms(text)
    whole = sum(map(_width, atoms))
    if whole <= WIDTH:
        return [text]
    goal = whole / max(count, -(-whole // WIDTH))
    lines, done, line = [], 0.0, ""
    for place, atom in enumerate(atoms):
        width = _width(atom)
        # An atom belongs to the line in which its middle is.
        if line and done + width / 2 > goal * (len(lines) + 1):
            lines.append(line)
            line = atom
        else:
            line += (glue[place] if line else "") + atom
        done += width
    return [*lines, line]


def _atoms(text: str) -> tuple[list[str], list[str]]:
    """The pieces of a text between which a line may end, and what is between each and the one before it."""
    inside = [match.span() for match in _TAG.finditer(text)]
    atoms, glue, start, tag = [], [""], 0, 0
    for match in _ATOM.finditer(text):
        place, end = match.span()
        while tag < len(inside) and inside[tag][1] <= place:
            tag += 1
        is_in_tag = tag < len(inside) and inside[tag][0] < place
        before, after = text[max(place - 1, 0) : place], text[end : end + 1]
        is_joined_else = bool(match.group()) and bool(before and after) and is_unspaced(before, after)
        if is_in_tag or is_joined_else or not before or not after or after in _NEVER_FIRST or before in _NEVER_LAST:
            continue
        atoms.append(text[start:place])
        glue.append(match.group())
        start = end
    return [*atoms, text[start:]], glue


def _width(text: str) -> int:
    """The columns that a text takes, without its tags."""
    shown = _TAG.sub("", text)
    return len(shown) + len(UNSPACED.findall(shown))


def _no_subtitles(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: the file holds no subtitles",
        why=why,
        hint="give the file the ending of its format",
        code="D182",
    )


def read_srt(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """Subtitles in SubRip. A translation has no escapes there: "<" before a letter is followed by a space."""
    return Subtitles(content, path, is_web=False)


def read_vtt(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """Subtitles in WebVTT."""
    return Subtitles(content, path, is_web=True)
