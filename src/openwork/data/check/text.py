"""Faults that one side of one pair shows by itself."""

import re
import unicodedata
from collections.abc import Iterator

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.records import Pair

DAMAGED = FaultKind("damaged encoding")
CONTROL = FaultKind("control characters")
ESCAPED = FaultKind("escapes of a web page")
UNNORMALISED = FaultKind("letters and marks apart (not NFC)")
HIDDEN = FaultKind("characters that are not seen")
SPACES = FaultKind("odd spaces")
BLANK = FaultKind("nothing on a side")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ESCAPED = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,6});|</?(?:b|i|br|p|span|div|a)\b[^<>]*>")
# Zero-width spaces and joiners, direction marks, soft hyphens, byte order marks. Emoji and some scripts join with
# U+200D and U+200C, so these two count only between letters of scripts that have no use for them.
_HIDDEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_SPACES = re.compile(r"^\s|\s$|\s{2,}|[^\S \u3000\u00a0\u202f]")
# UTF-8 read as Windows-1252 or Latin-1: each of its bytes became a letter or a sign.
_LATER_BYTES = (
    "\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201a"
    "\u201c-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122"
)
_AS_LETTERS = re.compile(f"[\u00c2-\u00f4][{_LATER_BYTES}]+")
_COMMON = ("\u00c2", "\u00c3")  # what begins western letters and signs; the others come in earnest before a quote
_MANY = 3


def text_faults(pair: Pair, line: int) -> Iterator[Fault]:
    """What both sides show."""
    for side in pair:
        if not side.strip():
            yield Fault(BLANK, line, pair.source or pair.target)
        yield from (Fault(kind, line, side) for kind in kinds_of(side))


def kinds_of(text: str) -> Iterator[FaultKind]:
    """The kinds of fault of one text."""
    if is_damaged(text):
        yield DAMAGED
    if _CONTROL.search(text):
        yield CONTROL
    if _ESCAPED.search(text):
        yield ESCAPED
    if not unicodedata.is_normalized("NFC", text):
        yield UNNORMALISED
    if _HIDDEN.search(text):
        yield HIDDEN
    if _SPACES.search(text):
        yield SPACES


def is_damaged(text: str) -> bool:
    """Whether bytes were lost (the replacement character) or read in a wrong encoding."""
    if "\ufffd" in text:
        return True
    found = [letters for letters in _AS_LETTERS.findall(text) if _was_utf8(letters)]
    return len(found) >= _MANY or any(letters.startswith(_COMMON) or len(letters) >= _MANY for letters in found)


def _was_utf8(letters: str) -> bool:
    """Whether these letters are the bytes of UTF-8, each read by itself."""
    for encoding in ("cp1252", "latin-1"):
        try:
            letters.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False
