"""Markdown: the text of each paragraph, heading and cell is a segment; all else stays byte for byte.

CommonMark with the tables and the strike-through of GitHub, and front matter, which stays. So do code, blocks of HTML
and the definitions of links. The lines of a paragraph are one text, and a translation has one line unless it has hard
line breaks.

A translation is parsed again before it is taken, and escaped where its text would be markup. Emphasis that would not
be read as such, as next to Chinese punctuation, is written in HTML. What cannot be written stays as it was.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from openwork.documents.document import Document, DocumentSettings, decoded
from openwork.documents.formats.markdown_blocks import Block, Blocks, BlockShape, blocks_of
from openwork.documents.formats.markdown_inline import (
    BREAK,
    HTML,
    NoPlaces,
    html_form,
    new_parser,
    pieces_of,
    signature,
)
from openwork.documents.lines import cut_lines, encoded, without_byte_order_mark
from openwork.documents.runs import Piece, TextRun, composed, run_of
from openwork.documents.segments import Mark, Parts, Tag, TranslationUnit

_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f]+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>&~#!])")
_LINE_START = re.compile(r"^(?:([+\-=])|(\d{1,9})([.)]))", re.MULTILINE)
_ODD_SPACE = re.compile(r"[^\S ]")

Markup = Callable[[Tag, str], str]


def _own_markup(tag: Tag, raw: str) -> str:
    """As the document has it; a hard line break as two spaces, which all parsers know."""
    return "  \n" if tag.name == BREAK else raw


def _asterisks(tag: Tag, raw: str) -> str:
    return raw.replace("_", "*") if tag.name in HTML else _own_markup(tag, raw)


def _html(tag: Tag, raw: str) -> str:
    return html_form(tag) if tag.name in HTML or tag.name == BREAK else raw


def _unescaped(text: str) -> str:
    return text


def _escaped(text: str) -> str:
    # A bar that is escaped would make a table of a heading that is underlined.
    escaped = _SPECIAL.sub(r"\\\1", text).replace("|", "&#124;")
    return _ODD_SPACE.sub(lambda match: f"&#{ord(match.group())};", escaped)


class MarkdownDocument:
    """A document in Markdown."""

    def __init__(self, content: bytes, path: Path) -> None:
        self._mark, self._text = without_byte_order_mark(decoded(content, path))
        self._parser = new_parser()
        self._blocks = blocks_of(self._text, self._parser)
        self._line_end = next((end for _, end in cut_lines(self._text) if end), "\n")
        self._found = list(self._runs(self._blocks))

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return [TranslationUnit(run.parts, f"line {block.line}") for block, _, run in self._found]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        """The document. Its blocks are the same as before; a translation that would change them is left out."""
        edits: dict[int, str] = {}
        for number, ((block, pieces, run), translation) in enumerate(zip(self._found, translations, strict=True)):
            if translation is not None and translation != run.parts:
                content = self._translated(block, pieces, run, translation)
                if content is not None:
                    edits[number] = self._in_place(block, content)
        while edits:
            text = self._edited(edits)
            place = _first_difference(self._blocks.structure, blocks_of(text, self._parser).structure)
            if place is None:
                return encoded(self._mark + text)
            before = [number for number in edits if self._found[number][0].token <= place]
            del edits[max(before, default=min(edits))]
        return encoded(self._mark + self._text)

    def _runs(self, blocks: Blocks) -> Iterator[tuple[Block, list[Piece], TextRun]]:
        for block in blocks.texts:
            try:
                pieces = pieces_of(block.content, self._parser, blocks.environment)
            except NoPlaces:
                continue
            if run := run_of(pieces):
                yield block, pieces, run

    def _translated(self, block: Block, pieces: Sequence[Piece], run: TextRun, translation: Parts) -> str | None:
        """The content of a block with a translation: the first way to write it that is read as it is meant."""
        content, tags = block.content, run.tags()
        clean = tuple(part if isinstance(part, Mark) else _clean(part) for part in translation)

        def raw(piece: Piece) -> str:
            return content[piece.start : piece.end]

        def meant(part: str | Mark) -> tuple[str | Tag, str]:
            if isinstance(part, str):
                return part, ""
            piece = tags[part.key, part.role]
            return piece.item, raw(piece)

        before = [piece for piece in pieces if piece.end <= run.start and piece.start < run.start]
        after = [piece for piece in pieces if piece.start >= run.end and piece.end > run.end]
        around = [[(piece.item, raw(piece)) for piece in some] for some in (before, after)]
        wanted = signature([*around[0], *map(meant, clean), *around[1]])
        for markup, escape in product((_own_markup, _asterisks, _html), (_unescaped, _escaped)):
            found = composed(
                clean, escape, lambda mark, markup=markup: _written(tags[mark.key, mark.role], markup, raw)
            )
            first = "".join(_written(piece, markup, raw) for piece in before)
            last = "".join(_written(piece, markup, raw) for piece in after)
            whole = (first + found + last).strip(" ")
            if escape is _escaped:
                whole = _LINE_START.sub(r"\2\\\1\3", whole)
            if self._is_read_as(block.shape, whole, wanted):
                return whole
        return None

    def _is_read_as(self, shape: BlockShape, content: str, wanted: list[str | tuple[str]]) -> bool:
        """Whether a content is one block of its shape, with the texts and tags that are wanted."""
        environment = {"references": ChainMap({}, self._blocks.environment["references"])}
        row = f"{_in_cell(content)} | -"  # no bar before it: any cell may be the first of its line
        text, opening = {
            BlockShape.PARAGRAPH: (content, "paragraph_open"),
            BlockShape.HEADING: (f"# {content}", "heading_open"),
            BlockShape.UNDERLINED: (f"{content}\n---", "heading_open"),
            BlockShape.CELL: (f"{row}\n--- | ---\n{row}", "table_open"),
        }[shape]
        tokens: list[Any] = self._parser.parse(text, environment)
        texts = [token.content for token in tokens if token.type == "inline"]
        is_one = texts == ([content, "-", content, "-"] if shape is BlockShape.CELL else [content])
        if not is_one or tokens[0].type != opening:
            return False
        try:
            pieces = pieces_of(content, self._parser, self._blocks.environment)
        except NoPlaces:
            return False
        return signature([(piece.item, content[piece.start : piece.end]) for piece in pieces]) == wanted

    def _in_place(self, block: Block, content: str) -> str:
        if block.shape is BlockShape.CELL:
            is_at_bar = self._text.startswith("|", block.end)
            return _in_cell(content) + (" " if content.endswith("\\") and is_at_bar else "")
        return content.replace("\n", self._line_end + block.prefix)

    def _edited(self, edits: dict[int, str]) -> str:
        pieces, place = [], 0
        for number, content in sorted(edits.items()):
            block = self._found[number][0]
            pieces += [self._text[place : block.start], content]
            place = block.end
        return "".join([*pieces, self._text[place:]])


def _written(piece: Piece, markup: Markup, raw: Callable[[Piece], str]) -> str:
    return markup(piece.item, raw(piece)) if isinstance(piece.item, Tag) else raw(piece)


def _in_cell(content: str) -> str:
    return content.replace("|", "\\|")


def _clean(text: str) -> str:
    """A text of one line: control characters, which Markdown cannot have, become spaces."""
    return _CONTROL.sub(" ", text).encode("utf-8", errors="replace").decode()


def _first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """The first place where two sequences differ."""
    if one == other:
        return None
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def read_markdown(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A document in Markdown. DataError if markdown-it-py is not installed."""
    return MarkdownDocument(content, path)
