"""The dates corpus: every expression has one right answer, in many scripts, with no date in two splits."""

import unicodedata
from collections import Counter
from datetime import date, timedelta
from itertools import islice

import pytest
from babel.dates import format_date
from hypothesis import given, settings
from hypothesis import strategies as st

from openwork.data.corpora.dates import (
    FIRST_YEAR,
    LAST_YEAR,
    LOCALES,
    ambiguous_formats,
    formats_of,
    generate,
    usable_formats,
    write_date,
)

DAY = date(2021, 3, 4)


def format_names(locale: str) -> list[str]:
    return [form.name for form in usable_formats(locale)]


def express(day: date, locale: str, name: str) -> str:
    """A date as the corpus writes it, tag included."""
    (form,) = (form for form in usable_formats(locale) if form.name == name)
    return write_date(day, form)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "name", "expected"),
    [
        ("en_GB", "short", "[en_GB] 04/03/2021"),
        ("en_US", "short", "[en_US] 3/4/2021"),
        ("en_US", "long", "March 4, 2021"),
        ("de_DE", "full", "Donnerstag, 4. März 2021"),
        ("ru_RU", "long", "4 марта 2021 г."),
        ("hr_HR", "long", "4. ožujka 2021."),
        ("hi_IN", "long", "4 मार्च 2021"),
        ("mr_IN", "medium", "४ मार्च, २०२१"),
        ("fa_IR", "short", "۲۰۲۱/۳/۴"),
        ("ja_JP", "full", "2021年3月4日木曜日"),
        ("ko_KR", "long", "2021년 3월 4일"),
        ("th_TH", "long", "4 มีนาคม ค.ศ. 2021"),
        ("sv_SE", "short", "2021-03-04"),
    ],
)
def test_expressions_known_by_hand(locale: str, name: str, expected: str) -> None:
    assert express(DAY, locale, name) == expected


@pytest.mark.slow
def test_forty_locales_in_eight_scripts_with_three_formats_each() -> None:
    assert len(LOCALES) >= 40
    assert len(set(LOCALES.values())) >= 8
    for locale in LOCALES:
        assert len({form.pattern for form in usable_formats(locale)}) >= 3, locale


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES)
def test_the_words_of_a_locale_are_in_its_script(locale: str) -> None:
    text = "".join(express(date(2021, month, 4), locale, "full") for month in range(1, 13))
    names = {unicodedata.name(letter) for letter in text if unicodedata.category(letter) in ("Lo", "Ll", "Lu")}
    word = {"Han": "CJK"}.get(LOCALES[locale], LOCALES[locale].upper())
    assert names
    assert all(name.startswith(word) for name in names), names


@pytest.mark.slow
@settings(max_examples=60)
@given(day=st.dates(date(FIRST_YEAR, 1, 1), date(LAST_YEAR, 12, 31)), locale=st.sampled_from(sorted(LOCALES)))
def test_two_ways_one_answer_our_parts_and_babel(day: date, locale: str) -> None:
    digits = {ord(native): str(unicodedata.digit(native)) for native in "٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹০১২৩৪৫৬৭৮৯०१२३४५६७८९"}
    marks = {0x202F: " ", 0xA0: " ", 0x200E: None, 0x200F: None}
    for form in usable_formats(locale):
        ours = form.write(day.year, day.month, day.day, day.weekday()).translate(digits)
        assert ours == format_date(day, form.pattern, locale).translate(marks)


@pytest.mark.slow
def test_years_have_four_digits_and_no_invisible_marks_are_left() -> None:
    for example in generate("valid", 2000):
        digits = "".join(str(unicodedata.digit(char)) for char in example.expression if char.isdigit())
        assert example.iso[:4] in digits
        assert not set(example.expression) & set("\u00a0\u202f\u200e\u200f\n\t")


@pytest.mark.slow
def test_no_expression_means_two_dates() -> None:
    # All ways of writing all days of three years (other weekdays, and a leap year) in all locales.
    meaning: dict[str, date] = {}
    tagged = ambiguous_formats()
    for start in (date(1999, 1, 1), date(2024, 1, 1), date(2026, 1, 1)):
        for day in (start + timedelta(number) for number in range(366)):
            for locale in LOCALES:
                for form in usable_formats(locale):
                    text = form.write(day.year, day.month, day.day, day.weekday())
                    text = f"[{locale}] {text}" if (locale, form.name) in tagged else text
                    assert meaning.setdefault(text, day) == day, (text, day, meaning[text])


@pytest.mark.slow
def test_tags_are_where_they_are_needed_and_nowhere_else() -> None:
    tagged = ambiguous_formats()
    assert {("en_GB", "short"), ("en_US", "short"), ("fr_FR", "short"), ("el_GR", "short")} <= tagged
    for untagged in (("de_DE", "long"), ("de_DE", "short"), ("sv_SE", "short"), ("ja_JP", "short"), ("en_US", "long")):
        assert untagged not in tagged
    for locale, name in tagged:
        assert express(DAY, locale, name).startswith(f"[{locale}] ")
    # Each tagged format has a day that some other tagged format writes alike and means otherwise.
    readings: dict[str, set[date]] = {}
    written: dict[tuple[str, str], set[str]] = {}
    for locale, name in tagged:
        for month in range(1, 13):
            for number in range(1, 13):
                day = date(2024, month, number)
                for weekday in {day.weekday()} if name == "short" else range(7):
                    form = next(form for form in usable_formats(locale) if form.name == name)
                    text = form.write(2024, month, number, weekday)
                    readings.setdefault(text, set()).add(day)
                    written.setdefault((locale, name), set()).add(text)
    for key, texts in written.items():
        assert any(len(readings[text]) > 1 for text in texts), key


def test_month_names_that_are_not_unique_would_make_a_format_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    form = next(form for form in formats_of("en_US") if form.name == "long")
    same = tuple(("month", dict.fromkeys(range(1, 13), "Month")) if part[0] == "month" else part for part in form.parts)
    monkeypatch.setattr(
        "openwork.data.corpora.dates.formats_of",
        lambda locale: (type(form)(locale, "long", form.pattern, same), form),
    )
    assert usable_formats.__wrapped__("en_US") == (form,)


@pytest.mark.slow
def test_splits_share_no_date_and_the_answer_is_the_date_written() -> None:
    splits = {name: list(generate(name, 3000, seed=2)) for name in ("train", "valid", "test")}
    for name, examples in splits.items():
        for example in examples:
            assert express(date.fromisoformat(example.iso), example.locale, example.format) == example.expression
        others = {other.iso for key, rest in splits.items() if key != name for other in rest}
        assert not others & {example.iso for example in examples}
    assert splits["test"][0].pair == (splits["test"][0].expression, splits["test"][0].iso)


@pytest.mark.slow
def test_locales_come_equally_often_and_every_format_occurs() -> None:
    examples = list(generate("train", 100 * len(LOCALES)))
    assert set(Counter(example.locale for example in examples).values()) == {100}
    rounds = [
        tuple(example.locale for example in examples[start : start + len(LOCALES)]) for start in (0, len(LOCALES))
    ]
    assert len(set(rounds)) == 2  # each round in an order of its own
    seen = {(example.locale, example.format) for example in examples}
    assert seen == {(locale, name) for locale in LOCALES for name in format_names(locale)}


@pytest.mark.slow
def test_a_seed_fixes_the_examples_and_longer_runs_begin_alike() -> None:
    assert list(generate("train", 60, seed=7)) == list(islice(generate("train", 600, seed=7), 60))
    assert list(generate("train", 60, seed=7)) != list(generate("train", 60, seed=8))
    assert list(generate("train", 60)) == list(generate("train", 60, seed=0))
    assert list(generate("train", 0)) == []


def test_another_split_is_refused() -> None:
    with pytest.raises(ValueError, match="'val'"):
        next(generate("val", 1))
