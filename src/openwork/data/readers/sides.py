"""The sides of a pair in every format: each one line of valid Unicode of bounded length, chosen by language codes."""

import re
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import MAX_LINE_CHARACTERS
from openwork.data.records import Languages

_LINE_END = re.compile(r"[\r\n]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def as_sentence(text: str, path: Path, line: int) -> str:
    """The text as one line: line ends inside it, with the indents around them, become one space; those around it go.

    `DataError` names `line`, the first of the text, for the faults that `read_lines` refuses and for escaped ones.
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
    return DataError(
        f"{path}:{line}: the text is longer than {MAX_LINE_CHARACTERS:,} characters",
        why="an entry should hold one sentence",
        hint="remove the entry",
        code="D053",
    )


def normal(code: str) -> str:
    """The code in lower case with hyphens: `zh_CN` and `ZH-cn` are the same."""
    return code.strip().lower().replace("_", "-")


def is_kind_of(found: str, wanted: str) -> bool:
    """Whether text in `found` serves where `wanted` is wanted: en-GB serves for en, but en not for en-GB."""
    found, wanted = normal(found), normal(wanted)
    return found == wanted or found.startswith(f"{wanted}-")


def is_backwards(found: Languages, wanted: Languages, path: Path, line: int) -> bool:
    """Whether a file from `found.source` to `found.target` must be read the other way round.

    A language that is not known fits every other. `DataError` if it fits neither way.
    """
    if _fits(found, wanted):
        return False
    if _fits(Languages(found.target, found.source), wanted):
        return True
    raise DataError(
        f"{path}:{line}: from {found.source} to {found.target}, where {wanted.source} to {wanted.target} is wanted",
        hint="check source_language and target_language in the run file's [data]",
        code="D036",
    )


def _fits(found: Languages, wanted: Languages) -> bool:
    return all(one is None or other is None or is_kind_of(one, other) for one, other in zip(found, wanted, strict=True))
