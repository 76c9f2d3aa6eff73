"""The built-in corpus `dates`: from the ways in which people write dates in many countries to ISO 8601.

The patterns and names are those of Unicode's CLDR, which Babel has. A pattern such as "d. MMMM y" is compiled to parts
once; writing a date then joins strings.
"""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from babel import Locale
from babel.dates import DateTimeFormat, tokenize_pattern

from openwork.data.corpora.corpus import check_split, split_of
from openwork.data.records import Pair

_LOCALES = {
    "Latin": "ca_ES cs_CZ da_DK de_DE en_GB en_US es_ES et_EE fi_FI fr_FR hr_HR hu_HU id_ID is_IS it_IT lt_LT lv_LV "
    "nb_NO nl_NL pl_PL pt_BR ro_RO sv_SE sw_KE tr_TR vi_VN",
    "Cyrillic": "bg_BG kk_KZ ru_RU sr_RS uk_UA",
    "Greek": "el_GR",
    "Armenian": "hy_AM",
    "Georgian": "ka_GE",
    "Hebrew": "he_IL",
    "Arabic": "ar_EG fa_IR ur_PK",
    "Ethiopic": "am_ET",
    "Devanagari": "hi_IN mr_IN",
    "Bengali": "bn_BD",
    "Tamil": "ta_IN",
    "Telugu": "te_IN",
    "Thai": "th_TH",
    "Han": "ja_JP zh_CN zh_TW",
    "Hangul": "ko_KR",
}
LOCALES: Mapping[str, str] = {locale: script for script, locales in _LOCALES.items() for locale in locales.split()}
"""The locales of the corpus, and the script of their words. Kyrgyz is absent: CLDR gives it y-dd-MM beside the usual
order, which would make every ISO date ambiguous."""

FIRST_YEAR, LAST_YEAR = 1950, 2049

_LENGTHS = ("short", "medium", "long", "full")
_SKELETONS = ("yMd", "yMEd", "yMMMd", "yMMMEd", "yMMMMd", "yMMMMEd")
_NATIVE_ZEROS = {"arab": "٠", "arabext": "۰", "beng": "০", "deva": "०"}
# What a person types: plain spaces, and no marks that only steer the direction of display.
_TYPED = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u200e": None, "\u200f": None})

_WEEKDAY = "\0"
_LEAP_YEAR = [date(2024, 1, 1) + timedelta(days) for days in range(366)]

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
        values = {"year": year, "month": month, "day": day, "weekday": weekday}
        texts = []
        for part in self.parts:
            if isinstance(part, str):
                texts.append(part)
            else:
                value = values[part[0]]
                texts.append(value if isinstance(value, str) else part[1][value])
        return "".join(texts)

    @property
    def weekdays(self) -> tuple[str, ...]:
        """The names of the weekdays as this format writes them; one empty name if it writes none."""
        tables = [part[1] for part in self.parts if not isinstance(part, str) and part[0] == "weekday"]
        return tuple(tables[0].values()) if tables else ("",)


@cache
def formats_of(locale: str) -> tuple[DateFormat, ...]:
    """Every distinct pattern of the locale with day, month and year; the four standard lengths come first."""
    language = Locale.parse(locale)
    patterns = {name: language.date_formats[name].pattern for name in _LENGTHS}
    skeletons = language.datetime_skeletons
    patterns |= {name: skeletons[name].pattern for name in _SKELETONS if name in skeletons}
    formats: dict[str, DateFormat] = {}
    for name, pattern in patterns.items():
        pattern = re.sub("y+", "y", pattern)  # years are written in full: "21" alone would be several years
        parts = _compile(pattern, str(language))
        if parts is not None and pattern not in formats:
            formats[pattern] = DateFormat(locale, name, pattern, parts)
    return tuple(formats.values())


def _compile(pattern: str, locale: str) -> tuple[Part, ...] | None:
    """The parts of a pattern, or None if it has a field of another calendar or lacks one of day, month and year."""
    parts: list[Part] = []
    for kind, value in tokenize_pattern(pattern):
        if kind == "chars":
            parts.append(str(value).translate(_TYPED))
            continue
        letter, width = value
        match letter:
            case "y":
                parts.append(("year", _numbers(locale, FIRST_YEAR, LAST_YEAR, 4)))
            case "d":
                parts.append(("day", _numbers(locale, 1, 31, int(width))))
            case "M" | "L" if int(width) <= 2:
                parts.append(("month", _numbers(locale, 1, 12, int(width))))
            case "M" | "L":
                parts.append(("month", _names(locale, "month", letter * int(width))))
            case "E" | "c":
                parts.append(("weekday", _names(locale, "weekday", letter * int(width))))
            case "G":
                parts.append(_format_field(date(2000, 1, 1), locale, letter))
            case _:
                return None
    fields = {part[0] for part in parts if not isinstance(part, str)}
    return tuple(parts) if fields >= {"year", "month", "day"} else None


@cache
def _numbers(locale: str, first: int, last: int, width: int) -> Mapping[int, str]:
    """The numbers in the locale's own digits, filled with its zero to `width`."""
    zero = ord(_NATIVE_ZEROS.get(Locale.parse(locale).default_numbering_system, "0"))
    digits = {ord("0") + digit: zero + digit for digit in range(10)}
    return {number: f"{number:0{width}}".translate(digits) for number in range(first, last + 1)}


@cache
def _names(locale: str, kind: str, field: str) -> Mapping[int, str]:
    """The names of the months (1 to 12) or of the weekdays (from Monday = 0) in the form of `field`."""
    if kind == "month":
        return {month: _format_field(date(2001, month, 1), locale, field) for month in range(1, 13)}
    return {day: _format_field(date(2001, 1, 1 + day), locale, field) for day in range(7)}  # 1 January 2001: a Monday


def _format_field(day: date, locale: str, field: str) -> str:
    return DateTimeFormat(day, locale)[field].translate(_TYPED)


@cache
def usable_formats(locale: str) -> tuple[DateFormat, ...]:
    """The formats of a locale in which no two dates look the same."""
    return tuple(form for form in formats_of(locale) if len({text for _, text in _days(form)}) == len(_LEAP_YEAR))


@cache
def ambiguous_formats() -> frozenset[tuple[str, str]]:
    """The (locale, format name) of which some expression is another date elsewhere: 03/04/2021 in Britain and the USA.

    One year represents all, since its four digits cannot be mistaken for anything else. Where a format names the
    weekday, all seven are tried on each day: a reader need not know the weekday of a date to understand it.
    """
    first_reading: dict[str, date] = {}
    contested: set[str] = set()
    written: dict[tuple[str, str], set[str]] = {}
    for form in (form for locale in LOCALES for form in usable_formats(locale)):
        own = written[form.locale, form.name] = set()
        for day, pattern in _days(form):
            for weekday in form.weekdays:
                expression = pattern.replace(_WEEKDAY, weekday)
                own.add(expression)
                if first_reading.setdefault(expression, day) != day:
                    contested.add(expression)
    return frozenset(key for key, expressions in written.items() if not expressions.isdisjoint(contested))


@cache
def _days(form: DateFormat) -> tuple[tuple[date, str], ...]:
    """Each day of a leap year and its expression, with a placeholder for the name of the weekday."""
    return tuple((day, form.write(day.year, day.month, day.day, _WEEKDAY)) for day in _LEAP_YEAR)


@dataclass(frozen=True, slots=True)
class DateExample:
    """A date as written in a locale, with the locale as a tag where it would be ambiguous, and its ISO 8601 form."""

    expression: str
    iso: str
    locale: str
    format: str

    @property
    def pair(self) -> Pair:
        return Pair(self.expression, self.iso)


def generate(split: str, count: int, seed: int = 0) -> Iterator[DateExample]:
    """`count` examples of a split: train, valid or test.

    Locales come equally often (each once in every round), formats and dates at random. No date is in two splits: its
    hash decides where it belongs. Deterministic in (split, seed), and a longer run begins with the examples of a
    shorter one.
    """
    dates = _dates_of(split)
    generator = random.Random(f"{split} {seed}")
    locales = list(LOCALES)
    for index in range(count):
        if index % len(locales) == 0:
            generator.shuffle(locales)
        locale = locales[index % len(locales)]
        form = generator.choice(usable_formats(locale))
        day = generator.choice(dates)
        yield DateExample(write_date(day, form), day.isoformat(), locale, form.name)


def write_date(day: date, form: DateFormat) -> str:
    """The date as the corpus has it, with the tag of the locale where it would be ambiguous."""
    text = form.write(day.year, day.month, day.day, day.weekday())
    return f"[{form.locale}] {text}" if (form.locale, form.name) in ambiguous_formats() else text


@cache
def _dates_of(split: str) -> tuple[date, ...]:
    check_split(split)
    days = map(date.fromordinal, range(date(FIRST_YEAR, 1, 1).toordinal(), date(LAST_YEAR + 1, 1, 1).toordinal()))
    return tuple(day for day in days if split_of(day.isoformat()) == split)
