"""Faults that one side of one pair shows by itself, such as damaged encodings, odd characters, another language."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from openwork.base.errors import UsageError
from openwork.data.check.faults import Fault, FaultKind
from openwork.data.records import Pair
from openwork.text.languages import can_tell_languages, other_language

DAMAGED = FaultKind("damaged encoding")
BLANK = FaultKind("a blank side")
LANGUAGE = FaultKind("another language")
CONTROL = FaultKind("control characters")
ESCAPES = FaultKind("escapes of a web page")
NOT_NFC = FaultKind("letters separate from their marks (not NFC)")
INVISIBLE = FaultKind("invisible characters")
SPACES = FaultKind("odd spaces")

# UTF-8 read as Windows-1252 or Latin-1: each of its bytes became a letter or a sign.
_LATER_BYTES = (
    "\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201a"
    "\u201c-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122"
)
_AS_LETTERS = re.compile(f"[\u00c2-\u00f4][{_LATER_BYTES}]+")
_COMMON = ("\u00c2", "\u00c3")  # the first bytes of western letters and signs; the others occur before a quote
_MANY = 3


def text_faults(pair: Pair, line: int) -> Iterator[Fault]:
    """What both sides show."""
    for side in pair:
        if not side.strip():
            yield Fault(BLANK, line, pair.source or pair.target)
        yield from (Fault(kind, line, side) for kind in kinds_of(side))


def language_faults(pairs: Iterable[Pair], languages: tuple[str, str]) -> Iterator[Fault]:
    """Pairs with a side that is surely in another language (the extra `languages`); UsageError without the package."""
    if not can_tell_languages():
        raise UsageError(
            "identifying languages needs the package py3langid, which is not installed",
            hint="pip install py3langid (the extra languages), or leave --languages out",
            code="U033",
        )
    for line, pair in enumerate(pairs, start=1):
        for side, wanted in zip(pair, languages, strict=True):
            if (found := other_language(side, wanted)) is not None:
                yield Fault(LANGUAGE, line, f"{found}: {side}")


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


# Zero-width spaces and joiners, direction marks, soft hyphens, byte order marks. Emoji and some scripts join with
# U+200D and U+200C, so these two are no faults.
_HIDDEN = "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
_ESCAPED = r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,6});|</?(?:b|i|br|p|span|div|a)\b[^<>]*>"
_RULES: dict[FaultKind, Callable[[str], object]] = {
    DAMAGED: is_damaged,
    CONTROL: re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]").search,
    ESCAPES: re.compile(_ESCAPED).search,
    NOT_NFC: lambda text: not unicodedata.is_normalized("NFC", text),
    INVISIBLE: re.compile(_HIDDEN).search,
    SPACES: re.compile(r"^\s|\s$|\s{2,}|[^\S \u3000\u00a0\u202f]").search,
}


def kinds_of(text: str) -> list[FaultKind]:
    return [kind for kind, is_found in _RULES.items() if is_found(text)]
