"""PO, the catalogues of gettext, read with polib.

Each entry that is not obsolete is a text. One with plural forms is two: `msgid`, whose translation is form 0, and
`msgid_plural`, whose translation all other forms get. Where the header says that the language has one form, the entry
is one text, `msgid_plural`.

Fuzzy entries are drafts. An entry that gets a translation is not fuzzy any more, and its `#|` lines go with the flag: a
translation is final as in every other format, and who wants it reviewed sees that in the report of the translation.

Only lines of entries that get a translation change: their `msgstr` is wrapped by polib. All other lines stay byte for
byte.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.documents.document import Document, DocumentSettings, decoded
from openwork.documents.libraries import need
from openwork.documents.segments import Parts, TranslationUnit, plain

_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_FORMS = re.compile(r"nplurals\s*=\s*(\d)\b")
_CHARSET = re.compile(r"(charset=)([\w.:-]+)")
_UTF8 = ("utf-8", "utf8")
_PLACEHOLDERS = ("charset", "us-ascii", "ascii")  # of templates; they become UTF-8
_COMMENT = re.compile(r"^\s*#(?!~)([,.:|]?)\s*")  # gettext needs no space there, polib does
_STATEMENT = re.compile(r'(?:msg(?:ctxt|id|id_plural|str|str\[\d\])\s+)?"(?:[^"\\]|\\.)*"')
_NO_STATEMENT = msg("it is neither a keyword and a text in quotes nor a comment")
_MSGID = re.compile(r"\s*(?:#~\s*)?msgid\s")
_MOST_LINES, _LARGEST = 2_000, 200_000  # lines and characters of an entry
_BOM = "\ufeff"
_NUL = "\0"  # no name of a file has it, and polib opens the file that a text names

_Entry = Any  # polib has no types


class _Lines(str):
    """A text that polib reads; its lines end where those of a file do, and not at every separator of Unicode."""

    lines: list[str]

    def splitlines(self, keepends: bool = False) -> list[str]:
        return self.lines


@dataclass(frozen=True)
class _EntryText:
    """A text of an entry. `forms`: which plural forms its translation is for; empty without plural forms."""

    entry: _Entry
    source: str
    forms: tuple[int, ...]

    @property
    def current(self) -> str:
        return self.entry.msgstr_plural.get(self.forms[0], "") if self.forms else self.entry.msgstr


class PoFile:
    """A PO file: its lines, its entries, and the lines of each entry."""

    def __init__(self, content: bytes, path: Path) -> None:
        need("polib", path)
        self._content = content
        self._lines = _LINE_ENDS.split(decoded(content, path))
        file = _parsed(self._lines, path)
        self._encoding = _encoding(file, path)
        begins = [entry.linenum for entry in file]
        self._ends = dict(pairwise([*begins, len(self._lines) + 1]))
        found = _FORMS.search(file.metadata.get("Plural-Forms", ""))
        self._form_count = int(found[1]) if found else 0
        self._texts = [text for entry in file for text in self._texts_of(entry) if text.source.strip()]
        self._check_spans(path)

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return [self._segment(text) for text in self._texts]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        if all(translation is None for translation in translations):
            return self._content
        lines = list(self._lines)
        pairs = list(zip(self._texts, translations, strict=True))
        self._declare_utf8(lines)
        for _, group in groupby(pairs, key=lambda pair: pair[0].entry.linenum):
            self._translate(lines, list(group))
        return "".join(lines).encode()

    def _texts_of(self, entry: _Entry) -> list[_EntryText]:
        if entry.obsolete:
            return []
        if not entry.msgid_plural:
            return [_EntryText(entry, entry.msgid, ())]
        count = self._form_count or len(entry.msgstr_plural)
        if count == 1:
            return [_EntryText(entry, entry.msgid_plural, (0,))]
        return [
            _EntryText(entry, entry.msgid, (0,)),
            _EntryText(entry, entry.msgid_plural, tuple(range(1, max(count, 2)))),
        ]

    def _segment(self, text: _EntryText) -> TranslationUnit:
        current = text.current.strip()
        is_whole = all(text.entry.msgstr_plural.get(form, "").strip() for form in text.forms)
        is_final = bool(current) and is_whole and not text.entry.fuzzy
        place = f"line {self._first_line(text.entry)}"
        return TranslationUnit((text.source.strip(),), place, (current,) if current else (), is_final)

    def _span(self, entry: _Entry) -> range:
        """The lines of an entry, from 0, comments included."""
        return range(max(entry.linenum - 1, 0), self._ends[entry.linenum] - 1)

    def _first_line(self, entry: _Entry) -> int:
        return next(n for n in self._span(entry) if self._lines[n].lstrip().startswith("msgid")) + 1

    def _check_spans(self, path: Path) -> None:
        for text in self._texts:
            if not any(self._lines[n].lstrip().startswith("msgstr") for n in self._span(text.entry)):
                raise _not_catalogue(path, msg("an entry has no msgstr"), self._first_line(text.entry))

    def _translate(self, lines: list[str], texts: list[tuple[_EntryText, Parts | None]]) -> None:
        """Writes the translations of one entry into its lines; those that go become empty strings."""
        if all(translation is None for _, translation in texts):
            return
        import polib  # type: ignore[import-not-found]

        entry = texts[0][0].entry
        forms = dict(entry.msgstr_plural)
        single = entry.msgstr
        for text, translation in texts:
            if translation is not None:
                single = _between_edges(text.source, plain(translation))
                forms |= dict.fromkeys(text.forms, single)
        plural = {"msgid_plural": "-", "msgstr_plural": forms} if entry.msgid_plural else {"msgstr": single}
        rendered = str(polib.POEntry(msgid="", **plural))
        span = self._span(entry)
        is_final = all(translation is not None for _, translation in texts)
        first = next(n for n in span if lines[n].lstrip().startswith("msgstr"))
        last = next(
            (n for n in range(first, span.stop) if not lines[n].lstrip().startswith(("msgstr", '"'))), span.stop
        )
        end = "\r\n" if lines[0].endswith("\r\n") else "\n"
        new = rendered[rendered.index("msgstr") :].rstrip("\n").replace("\n", end)
        lines[first:last] = [new + _end_of(lines[last - 1]), *[""] * (last - first - 1)]
        for n in range(span.start, first) if is_final and entry.fuzzy else ():
            lines[n] = _without_fuzzy(lines[n])

    def _declare_utf8(self, lines: list[str]) -> None:
        """A template's header names no encoding yet."""
        if self._encoding in _PLACEHOLDERS:
            place = next(n for n, line in enumerate(lines) if _CHARSET.search(line))
            lines[place] = _CHARSET.sub(r"\1UTF-8", lines[place], count=1)


def _parsed(lines: list[str], path: Path) -> Any:
    """polib's file. DataError for what is not PO."""
    import polib  # type: ignore[import-not-found]

    _check_lines([line.removeprefix(_BOM) for line in lines[:1]] + lines[1:], path)
    text = _Lines(_NUL)
    text.lines = [_COMMENT.sub(r"#\1 ", line.rstrip("\r\n")) for line in lines]
    try:
        return polib.pofile(text, encoding="utf-8")
    except (OSError, ValueError, LookupError, TypeError) as error:
        found = re.search(r"line (\d+)\)(?:: (.*))?", str(error))
        why = (found and found[2]) or msg("the line is not in its place")
        raise _not_catalogue(path, why, int(found[1]) if found else 1) from error


def _check_lines(lines: list[str], path: Path) -> None:
    """What polib does not check: it cuts the last character off a text without its last quote.

    It joins the lines of an entry one by one, which takes time with the square of their number.
    """
    begin = size = count = 0
    for number, line in enumerate(lines, start=1):
        if not line.lstrip().startswith("#") and line.strip() and not _STATEMENT.fullmatch(line.strip()):
            raise _not_catalogue(path, _NO_STATEMENT, number)
        if _MSGID.match(line):
            begin, size, count = number, len(line), 1
        elif line.strip() and not line.startswith("#:"):
            size += len(line)
            count += 1
        if size > _LARGEST or count > _MOST_LINES:
            raise _not_catalogue(
                path, msg(f"an entry has more than {_MOST_LINES:,} lines or {_LARGEST:,} characters"), begin
            )


def _encoding(file: Any, path: Path) -> str:
    """The encoding that the header names, in lower case. DataError for one that is not UTF-8."""
    found = _CHARSET.search(file.metadata.get("Content-Type", ""))
    name = found[2].lower() if found else "utf-8"
    if name not in (*_UTF8, *_PLACEHOLDERS):
        raise DataError(
            f"{path}: the catalogue is in {name}, not UTF-8",
            hint="convert it: msgconv --to-code=UTF-8 FILE > NEW",
            code="D181",
        )
    return name


def _between_edges(source: str, translation: str) -> str:
    """A translation with the whitespace that is around its source; gettext demands the same line ends."""
    return source[: len(source) - len(source.lstrip())] + translation + source[len(source.rstrip()) :]


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _without_fuzzy(line: str) -> str:
    """A line of comment without the flag fuzzy; a line of previous texts goes."""
    if line.startswith("#|"):
        return ""
    if not line.startswith("#,"):
        return line
    flags = [flag for part in line[2:].split(",") if (flag := part.strip()) != "fuzzy"]
    return f"#, {', '.join(flags)}{_end_of(line)}" if flags else ""


def _not_catalogue(path: Path, why: str, line: int) -> DataError:
    return DataError(
        f"{path}:{line}: the document is not PO from this line on",
        why=why,
        hint="mend the file; `msgfmt --check FILE` checks it",
        code="D180",
    )


def read_po(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A PO file. DataError for what is no PO, and for an encoding other than UTF-8."""
    return PoFile(content, path)
