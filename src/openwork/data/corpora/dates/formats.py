"""How dates are written in many countries: the patterns and names of Unicode's CLDR, which Babel carries.

A pattern such as "d. MMMM y" is turned into parts once; writing a date is then a matter of joining strings.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from babel import Locale
from babel.dates import DateTimeFormat, tokenize_pattern

LOCALES: Mapping[str, str] = {
    "ca_ES": "Latin",
    "cs_CZ": "Latin",
    "da_DK": "Latin",
    "de_DE": "Latin",
    "en_GB": "Latin",
    "en_US": "Latin",
    "es_ES": "Latin",
    "et_EE": "Latin",
    "fi_FI": "Latin",
    "fr_FR": "Latin",
    "hr_HR": "Latin",
    "hu_HU": "Latin",
    "id_ID": "Latin",
    "is_IS": "Latin",
    "it_IT": "Latin",
    "lt_LT": "Latin",
    "lv_LV": "Latin",
    "nb_NO": "Latin",
    "nl_NL": "Latin",
    "pl_PL": "Latin",
    "pt_BR": "Latin",
    "ro_RO": "Latin",
    "sv_SE": "Latin",
    "sw_KE": "Latin",
    "tr_TR": "Latin",
    "vi_VN": "Latin",
    "bg_BG": "Cyrillic",
    "kk_KZ": "Cyrillic",
    "ru_RU": "Cyrillic",
    "sr_RS": "Cyrillic",
    "uk_UA": "Cyrillic",
    "el_GR": "Greek",
    "hy_AM": "Armenian",
    "ka_GE": "Georgian",
    "he_IL": "Hebrew",
    "ar_EG": "Arabic",
    "fa_IR": "Arabic",
    "ur_PK": "Arabic",
    "am_ET": "Ethiopic",
    "hi_IN": "Devanagari",
    "mr_IN": "Devanagari",
    "bn_BD": "Bengali",
    "ta_IN": "Tamil",
    "te_IN": "Telugu",
    "th_TH": "Thai",
    "ja_JP": "Han",
    "zh_CN": "Han",
    "zh_TW": "Han",
    "ko_KR": "Hangul",
}
"""The locales of the corpus, and the script of their words. Kyrgyz is absent: CLDR gives it y-dd-MM beside the usual
order, which would make every ISO date ambiguous."""

FIRST_YEAR, LAST_YEAR = 1950, 2049

_LENGTHS = ("short", "medium", "long", "full")
_SKELETONS = ("yMd", "yMEd", "yMMMd", "yMMMEd", "yMMMMd", "yMMMMEd")
_NATIVE_ZEROS = {"arab": "٠", "arabext": "۰", "beng": "০", "deva": "०"}
# What a person types: plain spaces, and no marks that only steer the direction of display.
_TYPED = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u200e": None, "\u200f": None})

Part = str | tuple[str, Mapping[int, str]]
"""Literal text, or a field: its name (year, month, day, weekday) and what is written for each of its values."""


@dataclass(frozen=True, eq=False)
class DateFormat:
    """One way of writing dates in one locale; `name` is CLDR's (a length or a skeleton), `pattern` CLDR's too."""

    locale: str
    name: str
    pattern: str
    parts: tuple[Part, ...]

    def write(self, year: int, month: int, day: int, weekday: int | str) -> str:
        """The date as text; `weekday` counts from Monday = 0, or is the text to put in its place."""
        values = {"year": year, "month": month, "day": day}
        texts = []
        for part in self.parts:
            if isinstance(part, str):
                texts.append(part)
            elif part[0] == "weekday":
                texts.append(part[1][weekday] if isinstance(weekday, int) else weekday)
            else:
                texts.append(part[1][values[part[0]]])
        return "".join(texts)

    @property
    def weekdays(self) -> tuple[str, ...]:
        """The names of the weekdays as this format writes them; one empty name if it writes none."""
        tables = [part[1] for part in self.parts if not isinstance(part, str) and part[0] == "weekday"]
        return tuple(tables[0].values()) if tables else ("",)


@cache
def formats_of(locale: str) -> tuple[DateFormat, ...]:
    """Every distinct pattern of the locale that tells day, month and year; the four standard lengths come first."""
    language = Locale.parse(locale)
    patterns = {name: language.date_formats[name].pattern for name in _LENGTHS}
    skeletons = language.datetime_skeletons
    patterns |= {name: skeletons[name].pattern for name in _SKELETONS if name in skeletons}
    formats: dict[str, DateFormat] = {}
    for name, pattern in patterns.items():
        pattern = re.sub("y+", "y", pattern)  # years are written in full: "21" alone would be several years
        parts = _compile(pattern, language)
        if parts is not None and pattern not in formats:
            formats[pattern] = DateFormat(locale, name, pattern, parts)
    return tuple(formats.values())


def _compile(pattern: str, language: Locale) -> tuple[Part, ...] | None:
    """The parts of a pattern, or None if it has a field of another calendar or does not tell the whole date."""
    parts: list[Part] = []
    for kind, value in tokenize_pattern(pattern):
        if kind == "chars":
            parts.append(str(value).translate(_TYPED))
            continue
        letter, width = value
        match letter:
            case "y":
                parts.append(("year", _numbers(str(language), FIRST_YEAR, LAST_YEAR, 4)))
            case "d":
                parts.append(("day", _numbers(str(language), 1, 31, int(width))))
            case "M" | "L" if int(width) <= 2:
                parts.append(("month", _numbers(str(language), 1, 12, int(width))))
            case "M" | "L":
                parts.append(("month", _names(str(language), "month", letter * int(width))))
            case "E" | "c":
                parts.append(("weekday", _names(str(language), "weekday", letter * int(width))))
            case "G":
                parts.append(_format_field(date(2000, 1, 1), str(language), letter))
            case _:
                return None
    told = {part[0] for part in parts if not isinstance(part, str)}
    return tuple(parts) if told >= {"year", "month", "day"} else None


@cache
def _numbers(locale: str, first: int, last: int, width: int) -> Mapping[int, str]:
    """The numbers in the locale's own digits, filled with its zero to `width`."""
    zero = ord(_NATIVE_ZEROS.get(Locale.parse(locale).default_numbering_system, "0"))
    digits = {ord("0") + digit: zero + digit for digit in range(10)}
    return {number: f"{number:0{width}}".translate(digits) for number in range(first, last + 1)}


@cache
def _names(locale: str, kind: str, field: str) -> Mapping[int, str]:
    """The names of the months (1 to 12) or of the weekdays (from Monday = 0) in the form that `field` asks for."""
    if kind == "month":
        return {month: _format_field(date(2001, month, 1), locale, field) for month in range(1, 13)}
    return {day: _format_field(date(2001, 1, 1 + day), locale, field) for day in range(7)}  # 1 January 2001: a Monday


def _format_field(day: date, locale: str, field: str) -> str:
    return DateTimeFormat(day, locale)[field].translate(_TYPED)
