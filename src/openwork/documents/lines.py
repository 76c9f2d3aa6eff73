"""Documents of lines: where a place is, the mark at the start of a file, and lines that are one text."""

import re
from bisect import bisect_right

BYTE_ORDER_MARK = "\ufeff"
LINE_END = re.compile(r"\r\n|\r|\n")
# Scripts that are written without spaces between words, and their punctuation.
_UNSPACED = "\u2e80-\u30ff\u31c0-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff9f\U00020000-\U0003fffd"
UNSPACED = re.compile(f"[{_UNSPACED}]")


class LineNumbers:
    """The number of the line of a place in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    def at(self, place: int) -> int:
        """The line of the character at `place`, from 1."""
        return bisect_right(self._starts, place)


def cut_lines(text: str) -> list[tuple[str, str]]:
    """The lines of a text, each with its line end; the last has none."""
    lines, start = [], 0
    for match in LINE_END.finditer(text):
        lines.append((text[start : match.start()], match.group()))
        start = match.end()
    return [*lines, (text[start:], "")]


def one_line(text: str) -> str:
    """The lines of a text as one, with a space between them, and none between two Chinese or Japanese characters."""
    lines = [line.strip(" \t") for line, _ in cut_lines(text)]
    found = ""
    for line in filter(None, lines):
        found += ("" if not found or is_unspaced(found[-1], line[0]) else " ") + line
    return found


def is_unspaced(before: str, after: str) -> bool:
    """Whether two characters have no space between them where a line is cut."""
    return bool(UNSPACED.match(before) and UNSPACED.match(after))


def without_byte_order_mark(text: str) -> tuple[str, str]:
    """The byte order mark at the start of a text, or nothing; and the rest."""
    start = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    return text[:start], text[start:]


def encoded(text: str) -> bytes:
    """The text as UTF-8; half a character (a lone surrogate) of a translation becomes a question mark."""
    return text.encode("utf-8", errors="replace")
