"""Dates as people write them, each with its one ISO 8601 form: an endless corpus with known answers."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache

from openwork.base.errors import DataError
from openwork.data.corpora.dates.ambiguity import ambiguous_formats, usable_formats
from openwork.data.corpora.dates.formats import FIRST_YEAR, LAST_YEAR, LOCALES, DateFormat
from openwork.data.corpora.splits import SPLITS, split_of
from openwork.data.records import Pair


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
        place = index % len(locales)
        if place == 0:
            generator.shuffle(locales)
        locale = locales[place]
        form = generator.choice(usable_formats(locale))
        day = generator.choice(dates)
        yield DateExample(_write(day, form), day.isoformat(), locale, form.name)


def express(day: date, locale: str, format_name: str) -> str:
    """A date as the corpus writes it, tag included; `format_name` is one of `format_names(locale)`."""
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise DataError(
            f"{day}: the year is outside {FIRST_YEAR} to {LAST_YEAR}",
            why="the corpus has no such dates",
            hint=f"take a date of the years {FIRST_YEAR} to {LAST_YEAR}",
            code="D017",
        )
    for form in usable_formats(_known(locale)):
        if form.name == format_name:
            return _write(day, form)
    raise DataError(
        f"{format_name}: {locale} has no such date format",
        hint=f"choose from {', '.join(format_names(locale))}",
        code="D018",
    )


def format_names(locale: str) -> list[str]:
    """The names of the formats that the corpus uses for a locale."""
    return [form.name for form in usable_formats(_known(locale))]


def _known(locale: str) -> str:
    if locale not in LOCALES:
        raise DataError(
            f"{locale}: no such locale in the corpus", hint=f"choose from {', '.join(LOCALES)}", code="D019"
        )
    return locale


def _write(day: date, form: DateFormat) -> str:
    text = form.write(day.year, day.month, day.day, day.weekday())
    return f"[{form.locale}] {text}" if (form.locale, form.name) in ambiguous_formats() else text


@cache
def _dates_of(split: str) -> tuple[date, ...]:
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is none of {SPLITS}")
    first, last = date(FIRST_YEAR, 1, 1).toordinal(), date(LAST_YEAR, 12, 31).toordinal()
    return tuple(day for day in map(date.fromordinal, range(first, last + 1)) if split_of(day.isoformat()) == split)
