"""The blocks of Markdown that have a text, each with its place in the document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from openwork.documents.formats.markdown_inline import Environment
from openwork.documents.lines import cut_lines

MOST_CHARACTERS = 50_000  # of a block; a longer one is data, such as a picture, and stays as it is

_PREFIX = re.compile(r"(?:[\s>]|[-+*](?=\s)|\d{1,9}[.)](?=\s))*+")  # of items and quotations
_PIPE = re.compile(r"(?<!\\)\|")
_KEPT = frozenset({"fence", "code_block", "html_block"})


class BlockShape(Enum):
    """How a block is written."""

    PARAGRAPH = auto()
    HEADING = auto()  # after number signs
    UNDERLINED = auto()
    CELL = auto()


@dataclass(frozen=True)
class Block:
    """A block with a text: `content`, which stands at `document[start:end]`.

    Attributes:
        content: its lines without the prefixes of items and quotations; of a cell, without escapes of bars.
        line: its first line, from 1.
        prefix: what is before the text of its second line.
        shape: how it is written.
        token: the number of its token in the document.
    """

    content: str
    start: int
    end: int
    line: int
    prefix: str
    shape: BlockShape
    token: int


@dataclass(frozen=True)
class Blocks:
    """The blocks of a document, and its structure: all that a translation does not change."""

    texts: tuple[Block, ...]
    structure: tuple[tuple[Any, ...], ...]
    environment: Environment


def blocks_of(text: str, parser: Any) -> Blocks:
    """The blocks of a document after its front matter."""
    lines = cut_lines(text)
    first = _front_matter(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + sum(map(len, line)))
    environment: Environment = {"references": {}}
    tokens = parser.parse("\n".join(line for line, _ in lines[first:]), environment)
    found = []
    row: list[int] = []
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            found += _cells([tokens[place] for place in row], row, lines, starts, first)
        elif token.type == "inline" and tokens[number - 1].type in ("th_open", "td_open"):
            row.append(number)
        elif token.type == "inline" and (block := _block(token, tokens[number - 1], number, lines, starts, first)):
            found.append(block)
    structure = [
        (token.type, token.tag, token.level, token.info, token.content if token.type in _KEPT else "")
        for token in tokens
    ]
    links = sorted((label, link["href"], link["title"]) for label, link in environment["references"].items())
    front = ("".join(map("".join, lines[:first])), *links)
    usable = (block for block in found if block.content and len(block.content) <= MOST_CHARACTERS)
    return Blocks(tuple(usable), (*structure, front), environment)


def _front_matter(lines: Sequence[tuple[str, str]]) -> int:
    """The number of lines of the settings in YAML at the start of a document."""
    if lines[0][0].rstrip() != "---":
        return 0
    ends = (number for number, (line, _) in enumerate(lines) if number and line.rstrip() in ("---", "..."))
    return next(ends, -1) + 1


def _block(
    token: Any, opening: Any, number: int, lines: Sequence[tuple[str, str]], starts: Sequence[int], first: int
) -> Block | None:
    """The block of a paragraph or a heading. None if its lines are not found in the document, as with odd indents."""
    content = token.content.strip()
    top = token.map[0] + first
    if opening.type == "heading_open" and opening.markup.startswith("#"):
        line = lines[top][0]
        after = line.find("#") + len(opening.markup)
        column = after + len(line[after:]) - len(line[after:].lstrip())
        if not line.startswith(content, column):
            return None
        place = starts[top] + column
        return Block(content, place, place + len(content), top + 1, "", BlockShape.HEADING, number)
    columns: list[tuple[int, int]] = []
    for line_number, row in enumerate(content.split("\n"), top):
        line, wanted = lines[line_number][0].rstrip(), row.strip()
        if not line.endswith(wanted):
            return None
        columns.append((len(line) - len(wanted), len(line)))
    last = top + len(columns) - 1
    prefix = lines[top + 1][0][: columns[1][0]] if len(columns) > 1 else ""
    shape = BlockShape.UNDERLINED if opening.type == "heading_open" else BlockShape.PARAGRAPH
    return Block(content, starts[top] + columns[0][0], starts[last] + columns[-1][1], top + 1, prefix, shape, number)


def _cells(
    cells: Sequence[Any], numbers: Sequence[int], lines: Sequence[tuple[str, str]], starts: Sequence[int], first: int
) -> Iterator[Block]:
    """The cells of a row; none if they are not found in its line."""
    if not cells:
        return
    top = cells[0].map[0] + first
    for (start, end), cell, number in zip(_bounds(lines[top][0], cells), cells, numbers, strict=False):
        place = starts[top]
        yield Block(cell.content.strip(), place + start, place + end, top + 1, "", BlockShape.CELL, number)


def _bounds(line: str, cells: Sequence[Any]) -> list[tuple[int, int]]:
    """Where the cells of a row are in its line; none if they are not found."""
    cuts = [match.start() for match in _PIPE.finditer(line)]
    fields = list(zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(line)], strict=True))
    contents = [cell.content.strip().replace("|", "\\|") for cell in cells]
    prefix = _PREFIX.match(line)
    assert prefix
    if cuts and prefix.end() == cuts[0]:  # a bar before the first cell
        fields = fields[1:]
    else:
        end = len(line[: fields[0][1]].rstrip())
        start = end - len(contents[0])
        if start > prefix.end():
            return []
        fields[0] = (max(start, 0), fields[0][1])
    found = []
    for (start, end), content in zip(fields, contents, strict=False):
        field = line[start:end]
        if field.strip() != content:
            return []
        start += len(field) - len(field.lstrip())
        found.append((start, start + len(content)))
    return found
