r"""PO, the catalogues of gettext: `msgid` is the source, `msgstr` the target.

Fuzzy and obsolete entries are no translations: they are skipped and counted. Of an entry with plural forms, the
first form translates `msgid` and every further one `msgid_plural`; a language with one form alone, such as Chinese,
translates both with it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import MAX_LINE_CHARACTERS, read_lines
from openwork.base.messages import msg
from openwork.data.readers.sides import as_sentence, is_kind_of, too_long
from openwork.data.records import UNSAID, Languages, Pair, Skipped

_STATEMENT = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[[0-9]{1,2}\])?)\s*)?"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_OBSOLETE = re.compile(r"#~\s*msgid\s*\"")
_CHARSET = re.compile(r"charset=([\w.:-]+)")
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii", "charset")  # the last is in templates


NO_MSGSTR = msg("the entry has no msgstr; each msgid needs one, if only an empty one")


@dataclass
class _Entry:
    """An entry as far as it has been read; `line` is that of its msgid. `texts`: by keyword, in the file's order."""

    line: int = 0
    is_fuzzy: bool = False
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def forms(self) -> list[str]:
        """The translations: one, or one for each plural form."""
        return [text for keyword, text in self.texts.items() if keyword.startswith("msgstr")]

    @property
    def is_header(self) -> bool:
        return "msgctxt" not in self.texts and not self.texts.get("msgid")


def read_po(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair | Skipped]:
    """Yield the pairs of each entry of a file (plain, gzip or xz); an entry without a translation gives a blank target.

    If the header's `Language` is the source that is wanted, and not the target, the pairs are reversed.
    `DataError` names the line that is not PO, of an encoding other than UTF-8, and of an incomplete entry.
    """
    path = Path(path)
    backwards = False
    for entry in _entries(path):
        if isinstance(entry, Skipped):
            yield entry
        elif entry.is_header:
            backwards = _is_backwards(entry, languages, path)
        elif entry.is_fuzzy:
            yield Skipped("fuzzy", entry.line)
        else:
            first, *others = entry.forms
            texts = [(entry.texts["msgid"], first)]
            if "msgid_plural" in entry.texts:
                texts += [(entry.texts["msgid_plural"], form) for form in others or [first]]
            for source, target in texts:
                pair = Pair(as_sentence(source, path, entry.line), as_sentence(target, path, entry.line))
                yield Pair(*pair[::-1]) if backwards else pair


def _entries(path: Path) -> Iterator[_Entry | Skipped]:
    """The entries as they end: with the first line that cannot belong to them."""
    entry, keyword = _Entry(), ""
    for number, line in enumerate(read_lines(path), start=1):
        line = line.strip()
        found = _STATEMENT.fullmatch(line)
        if entry.forms and (line.startswith("#") or (found and found[1] in ("msgctxt", "msgid"))):
            yield entry
            entry, keyword = _Entry(), ""
        if found:
            keyword = found[1] or keyword
            _add(entry, keyword, found[2], path, number, is_new=found[1] is not None)
        elif line.startswith("#,"):
            entry.is_fuzzy |= "fuzzy" in re.split(r"[,\s]+", line)
        elif _OBSOLETE.match(line):
            entry.is_fuzzy = False  # its flags precede it
            yield Skipped("obsolete", number)
        elif line and not line.startswith("#"):
            raise _not_po(
                path, number, msg('it is neither a keyword and a text in quotes (msgid "File") nor a comment')
            )
    if entry.forms:
        yield entry
    elif entry.texts:
        raise _not_po(path, entry.line, NO_MSGSTR)


def _add(entry: _Entry, keyword: str, text: str, path: Path, number: int, *, is_new: bool) -> None:
    """Put a string into the entry: the beginning of a text, or its continuation."""
    if not keyword:
        raise _not_po(path, number, msg("its text has no keyword, such as msgid"))
    if keyword.startswith("msgstr") and "msgid" not in entry.texts:
        raise _not_po(path, number, msg("it is a translation without its source"))
    if is_new and keyword in entry.texts:
        again = msg("the entry has this keyword already; an empty line is between two entries")
        raise _not_po(path, number, NO_MSGSTR if keyword == "msgid" else again)
    if keyword == "msgid" and is_new:
        entry.line = number
    entry.texts[keyword] = entry.texts.get(keyword, "") + _unescape(text, path, number)
    if len(entry.texts[keyword]) > MAX_LINE_CHARACTERS:
        raise too_long(path, entry.line)


def _not_po(path: Path, line: int, why: str) -> DataError:
    return DataError(
        f"{path}:{line}: the line is not PO",
        why=why,
        hint="mend the file; `msgfmt --check FILE` checks it",
        code="D044",
    )


def _unescape(text: str, path: Path, number: int) -> str:
    if "\\" not in text:
        return text

    def unescaped(found: re.Match[bytes]) -> bytes:
        hexadecimal, octal, character = found.groups()
        if character is not None:
            return _ESCAPED.get(character, character)
        return bytes([(int(hexadecimal, 16) if hexadecimal else int(octal, 8)) & 0xFF])

    try:
        return _ESCAPE.sub(unescaped, text.encode()).decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{number}: an escape sequence gives invalid UTF-8", hint="write the character itself", code="D049"
        ) from error


def _is_backwards(header: _Entry, languages: Languages, path: Path) -> bool:
    """Whether the header's language is the source that is wanted; its encoding is checked on the way."""
    lines = (line.partition(":") for line in "".join(header.forms).split("\n"))
    fields = {name.strip().lower(): value.strip() for name, _, value in lines}
    charset = _CHARSET.search(fields.get("content-type", ""))
    if charset and charset[1].lower() not in _UTF8:
        raise DataError(
            f"{path}:{header.line}: the file is in {charset[1]}, not UTF-8",
            hint="convert it: msgconv --to-code=UTF-8 FILE > NEW",
            code="D050",
        )
    found, (source, target) = fields.get("language", ""), languages
    return bool(found and source and is_kind_of(found, source) and not (target and is_kind_of(found, target)))
