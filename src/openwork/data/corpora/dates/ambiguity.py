"""Which ways of writing a date need their locale named, found by writing every day of a year in every way."""

from collections.abc import Iterator
from functools import cache

from openwork.data.corpora.dates.formats import LOCALES, DateFormat, formats_of

_WEEKDAY = "\0"
_LEAP_YEAR = 2024
_DAYS_OF_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@cache
def usable_formats(locale: str) -> tuple[DateFormat, ...]:
    """The formats of a locale in which no two dates look the same."""
    return tuple(form for form in formats_of(locale) if _tells_all_days_apart(form))


@cache
def ambiguous_formats() -> frozenset[tuple[str, str]]:
    """The (locale, format name) of which some expression is another date elsewhere: 03/04/2021 in Britain and the USA.

    One year stands for all, since its four digits cannot be taken for anything else. Where a format names the weekday,
    all seven are tried on each day: nobody has to work out on which weekday a date falls to know how it is meant.
    """
    first_reading: dict[str, tuple[int, int]] = {}
    contested: set[str] = set()
    written: dict[tuple[str, str], set[str]] = {}
    for form in (form for locale in LOCALES for form in usable_formats(locale)):
        mine = written[form.locale, form.name] = set()
        for month, day, pattern in _days(form):
            for weekday in form.weekdays:
                expression = pattern.replace(_WEEKDAY, weekday)
                mine.add(expression)
                if first_reading.setdefault(expression, (month, day)) != (month, day):
                    contested.add(expression)
    return frozenset(key for key, expressions in written.items() if not expressions.isdisjoint(contested))


def _tells_all_days_apart(form: DateFormat) -> bool:
    return len({expression for _, _, expression in _days(form)}) == sum(_DAYS_OF_MONTHS)


def _days(form: DateFormat) -> Iterator[tuple[int, int, str]]:
    """Month, day and expression for each day of a leap year; a placeholder stands for the name of the weekday."""
    for month, days in enumerate(_DAYS_OF_MONTHS, start=1):
        for day in range(1, days + 1):
            yield month, day, form.write(_LEAP_YEAR, month, day, _WEEKDAY)
