"""What holds for the text of every format: one line, no NUL, real Unicode, of bounded length."""

import re
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import MAX_LINE_CHARACTERS

_LINE_END = re.compile(r"[\r\n]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def as_sentence(text: str, path: Path, line: int) -> str:
    """The text as one line: line ends inside it, with the indents around them, become one space; those around it go.

    `DataError` names `line`, where the text began, for what `read_lines` refuses too and what escapes can smuggle in.
    """
    if len(text) > MAX_LINE_CHARACTERS:
        raise too_long(path, line)
    if "\0" in text:
        raise DataError(
            f"{path}:{line}: the text holds a NUL character", hint="remove the character, or the entry", code="D051"
        )
    if found := _SURROGATE.search(text):
        raise DataError(
            f"{path}:{line}: the text is not Unicode (lone surrogate U+{ord(found.group()):04X})",
            why="an escape sequence gives half of a character",
            hint="write the character itself, or both halves",
            code="D052",
        )
    if "\n" in text or "\r" in text:
        text = " ".join(filter(None, (part.strip(" \t") for part in _LINE_END.split(text))))
    return text


def too_long(path: Path, line: int) -> DataError:
    """The refusal of a text that no sentence can be."""
    return DataError(
        f"{path}:{line}: the text is longer than {MAX_LINE_CHARACTERS:,} characters",
        why="an entry should hold one sentence",
        hint="remove the entry",
        code="D053",
    )
