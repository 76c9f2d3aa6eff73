"""Tables and records: one column or key is translated into a new one, `translation`; all else stays byte for byte.

A row that has a translation already keeps it, unless it gets a new one.
"""

import csv
import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.documents.document import Document, DocumentSettings, decoded
from openwork.documents.lines import cut_lines, encoded, one_line, without_byte_order_mark
from openwork.documents.segments import Parts, TranslationUnit, plain

COLUMNS = ("text", "source")  # the column that is translated, where none is named
TRANSLATION = "translation"
DELIMITERS = ",;\t|"  # of CSV; the one that gives most columns is taken

_WHITE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class _TableRecord:
    """A row: its line, text and translation, and what gives the row with another translation, or with an empty one."""

    line: int
    raw: str
    text: str
    current: str
    rewritten: Callable[[str], str]
    is_head: bool = False  # the names of the columns


class Records:
    """A file of rows, of which some have a text. `is_wider`: whether the translations are a new column."""

    def __init__(self, mark: str, rows: Iterable[_TableRecord], *, is_wider: bool) -> None:
        self._mark, self._rows, self._is_wider = mark, list(rows), is_wider

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return [
            TranslationUnit((row.text,), f"line {row.line}", (row.current,) if row.current else (), bool(row.current))
            for row in self._rows
            if _has_text(row)
        ]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        """The file; without any translation it stays as it is, without a new column."""
        if all(translation is None for translation in translations):
            return encoded(self._mark + "".join(row.raw for row in self._rows))
        answers = iter(translations)
        found = [self._mark]
        for row in self._rows:
            answer = next(answers) if _has_text(row) else None
            text = row.current if answer is None else _whole_characters(plain(answer))
            is_new = self._is_wider or text != row.current
            found.append(row.rewritten(text) if is_new else row.raw)
        return encoded("".join(found))


def _has_text(row: _TableRecord) -> bool:
    return bool(row.text) and not row.is_head


def _whole_characters(text: str) -> str:
    """The text without lone surrogates, which a file in UTF-8 cannot have."""
    return text.encode("utf-8", errors="replace").decode()


# Tables


@dataclass(frozen=True)
class _Dialect:
    """How a table is written. `quote`: whether fields may be in quotation marks; `quotes_all`: whether all are."""

    delimiter: str
    quote: bool
    quotes_all: bool = False

    def rows(self, lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """Each row with the number of lines up to its end. csv.Error for what is no row."""
        quoting = csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE
        reader = csv.reader(iter(lines), delimiter=self.delimiter, quoting=quoting, strict=True)
        for fields in reader:
            yield reader.line_num, fields

    def field(self, text: str) -> str:
        """A field as the table has it. Without quotes, delimiters and line ends become spaces."""
        if not self.quote:
            return one_line(text.replace(self.delimiter, " "))
        if self.quotes_all or any(mark in text for mark in (self.delimiter, '"', "\r", "\n")):
            return '"' + text.replace('"', '""') + '"'
        return text


def _read_table(content: bytes, path: Path, settings: DocumentSettings, dialects: Sequence[_Dialect]) -> Records:
    mark, text = without_byte_order_mark(decoded(content, path))
    lines = [line + end for line, end in cut_lines(text) if line or end]
    dialect, names = _head(lines, path, settings, dialects)
    column = _column(names, path, settings)
    place = names.index(TRANSLATION) if TRANSLATION in names else None
    rows: list[_TableRecord] = []
    start = 0
    try:
        for end, fields in dialect.rows(lines):
            raw = "".join(lines[start:end])
            if fields and len(fields) != len(names):
                why = msg(f"it has {len(fields)} fields, but there are {len(names)} columns")
                raise _broken_row(path, start + 1, why)
            is_head = not rows
            rows.append(_table_row(start + 1, raw, fields, column, place, dialect, is_head=is_head))
            start = end
    except csv.Error as error:
        raise _broken_row(path, start + 1, str(error)) from error
    return Records(mark, rows, is_wider=place is None)


def _table_row(
    line: int, raw: str, fields: list[str], column: int, place: int | None, dialect: _Dialect, *, is_head: bool
) -> _TableRecord:
    body = raw.rstrip("\r\n")
    line_end = raw[len(body) :]

    def rewritten(text: str) -> str:
        if not fields:
            return raw
        if place is None:
            text = TRANSLATION if is_head else text
            return body + dialect.delimiter + (dialect.field(text) if text or dialect.quotes_all else "") + line_end
        changed = [*fields[:place], text, *fields[place + 1 :]]
        return dialect.delimiter.join(map(dialect.field, changed)) + line_end

    text = one_line(fields[column]) if fields else ""
    current = fields[place] if fields and place is not None else ""
    return _TableRecord(line, raw, text, current, rewritten, is_head)


def _head(
    lines: Sequence[str], path: Path, settings: DocumentSettings, dialects: Sequence[_Dialect]
) -> tuple[_Dialect, list[str]]:
    """The dialect that gives the column that is wanted, or most columns; and the names of the columns."""
    wanted = (settings.column,) if settings.column is not None else COLUMNS
    found: list[tuple[bool, int, _Dialect, list[str]]] = []
    problem = msg("the file is empty")
    for dialect in dialects:
        try:
            end, names = next(dialect.rows(lines), (0, []))
        except csv.Error as error:
            problem = str(error)
            continue
        quotes_all = dialect.quote and "".join(lines[:end]).rstrip("\r\n") == dialect.delimiter.join(
            '"' + name.replace('"', '""') + '"' for name in names
        )
        found.append(
            (
                any(name in names for name in wanted),
                len(names),
                _Dialect(dialect.delimiter, dialect.quote, quotes_all),
                names,
            )
        )
    best = max(found, key=lambda one: one[:2], default=None)
    if best is None or not best[3]:
        raise _broken_row(path, 1, problem)
    return best[2:]


def _column(names: Sequence[str], path: Path, settings: DocumentSettings) -> int:
    choices = (settings.column,) if settings.column is not None else COLUMNS
    known = [name for name in choices if names.count(name) == 1]
    if not known or names.count(TRANSLATION) > 1 or known[0] == TRANSLATION:
        raise _no_column(path, choices, names)
    return names.index(known[0])


def read_csv(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A table of fields that are divided by commas, semicolons, tabs or bars; its first row has the columns' names."""
    return _read_table(content, path, settings, [_Dialect(delimiter, quote=True) for delimiter in DELIMITERS])


def read_tsv(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A table of fields that are divided by tabs, without quotes (IANA's text/tab-separated-values)."""
    return _read_table(content, path, settings, [_Dialect("\t", quote=False)])


# JSON lines


@dataclass(frozen=True)
class _Member:
    """A member of an object: its value, which is `raw[start:end]`."""

    value: Any
    start: int
    end: int


def read_jsonl(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """Lines of JSON objects. The key of the texts is the column that is named, or that the first object has."""
    mark, text = without_byte_order_mark(decoded(content, path))
    choices: Sequence[str] = (settings.column,) if settings.column is not None else COLUMNS
    rows: list[_TableRecord] = []
    for line, pieces in enumerate(cut_lines(text), 1):
        raw = "".join(pieces)
        members = _members(raw, path, line)
        if members is None:
            rows.append(_TableRecord(line, raw, "", "", lambda _, raw=raw: raw))
            continue
        choices = [name for name in choices if name in members][:1]
        if not choices:
            raise _no_column(
                f"{path}:{line}", COLUMNS if settings.column is None else (settings.column,), list(members)
            )
        rows.append(_json_row(raw, members, choices[0], path, line))
    return Records(mark, rows, is_wider=False)


def _json_row(raw: str, members: dict[str, _Member], key: str, path: Path, line: int) -> _TableRecord:
    texts = []
    for name in (key, TRANSLATION):
        value = members[name].value if name in members else None
        if not isinstance(value, str | None) or _SURROGATE.search(value or ""):
            raise DataError(
                f"{path}:{line}: the value of {name!r} is no text",
                why="it holds half a character (a lone surrogate)" if isinstance(value, str) else "it is no string",
                hint="write a string of whole characters, or null",
                code="D186",
            )
        texts.append(value or "")

    def rewritten(text: str) -> str:
        written = json.dumps(text, ensure_ascii=False)
        if TRANSLATION in members:
            old = members[TRANSLATION]
            return raw[: old.start] + written + raw[old.end :]
        end = max(member.end for member in members.values())
        return f'{raw[:end]}, "{TRANSLATION}": {written}{raw[end:]}'

    return _TableRecord(line, raw, one_line(texts[0]), texts[1], rewritten)


def _members(raw: str, path: Path, line: int) -> dict[str, _Member] | None:
    """The members of a line's object, each with its place; None for a blank line."""
    if not raw.strip(" \t\r\n"):
        return None
    # The values of numbers are not needed, and long ones would be refused.
    decoder = json.JSONDecoder(parse_constant=_refuse, parse_int=lambda _: 0, parse_float=lambda _: 0.0)
    try:
        if not isinstance(decoder.decode(raw), dict):
            raise ValueError('a line is an object, such as {"text": "Hello"}')
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}:{line}: the line is no JSON object",
            why="it is nested too deep" if isinstance(error, RecursionError) else str(error),
            hint="write one object a line",
            code="D185",
        ) from error
    found: dict[str, _Member] = {}
    place = _after_white(raw, raw.index("{") + 1)
    while raw[place] != "}":
        key, place = decoder.raw_decode(raw, place)
        start = _after_white(raw, _after_white(raw, place) + 1)  # past the colon
        value, end = decoder.raw_decode(raw, start)
        found[key] = _Member(value, start, end)
        place = _after_white(raw, end)
        if raw[place] == ",":
            place = _after_white(raw, place + 1)
    return found


def _after_white(raw: str, place: int) -> int:
    match = _WHITE.match(raw, place)
    assert match
    return match.end()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _broken_row(path: Path, line: int, why: str) -> DataError:
    return DataError(
        f"{path}:{line}: the row cannot be read",
        why=why,
        hint="the first row names the columns; each row has as many fields, and doubles quotation marks in them",
        code="D184",
    )


def _no_column(place: Path | str, choices: Sequence[str], names: Sequence[str]) -> DataError:
    near = difflib.get_close_matches(choices[0], names, n=1)
    return DataError(
        f"{place}: no column or key {' or '.join(choices)}, or two of that name",
        why=f"its columns are {', '.join(names)}",
        hint=f"did you mean --column {near[0]}?" if near else "name the column of the texts with --column",
        code="D183",
    )
