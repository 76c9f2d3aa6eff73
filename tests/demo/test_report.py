"""The report: one file that is complete, loads nothing, and lets no text become markup."""

import re
from typing import Any

import numpy as np
import pytest

from html_page import Page
from made_pages import demo_report
from openwork.base.pages import render
from openwork.data.corpora.dates import LOCALES
from openwork.demo.report import DemoResult, LocaleScores, Sample, Samples, locale_scores
from openwork.inspection.attention_view import PHONE, AttentionMap
from openwork.inspection.plots import Chart, Figures, Series
from openwork.metrics.ratio import Ratio


def report(words: str = "words", **others: Any) -> str:
    """A report in which `words` stands wherever a text can stand."""
    figures = Figures(words, (words, words, words), ((words, words, "99.1"),))
    values: dict[str, Any] = {
        "title": words,
        "summary": words,
        "headline": ((words, words),),
        "settings": ((words, words),),
        "curves": (Chart(words, words, words, (Series(words, [(1, 2.0), (2, 1.0)]),), log_y=True),),
        "locales": LocaleScores(figures, words, figures),
        "samples": Samples(
            (
                Sample(words, words, words, True, "de"),
                Sample(words, words, words, False, words),
            ),
            words,
        ),
        "phone": PHONE,
        "attention": (AttentionMap(words, np.eye(2), ((words, words), (words, words)), (words, words), words),),
        "machine": ((words, words),),
        "next_steps": ((words, words),),
    }
    return render("report.html", **values | others)


def test_the_parts_and_their_order():
    page = Page(report())
    headings = [
        "Outputs on held-out examples",
        "Scores",
        "Attention weights",
        "Learning curves",
        "What to try next",
        "Settings and machine",
        "What was trained",
        "Machine and times",
    ]
    assert [text for text in page.texts if text in headings] == headings
    assert len(page.attributes("svg")) == 3, "a curve, and a map for a wide and for a narrow page"
    assert len(page.attributes("details")) == 3
    assert page.texts.count("✓ right") == 1 and page.texts.count("✗ wrong") == 1
    assert "99.1" in page.texts


def test_a_date_of_ones_own_is_neither_right_nor_wrong():
    given = Samples((Sample("14. März", "03-14"), Sample("15. März", "03-15", "03-15", True)), "")
    texts = Page(report(samples=given)).texts
    first = texts.index("14. März")
    assert texts[first : first + 6] == ["14. März", "03-14", "yours", "15. März", "03-15", "✓ right"]


def test_what_is_wrong_names_what_was_expected():
    given = Samples((Sample("15. März", "03-51", "03-15", False),), "")
    texts = Page(report(samples=given)).texts
    first = texts.index("✗ wrong")
    assert texts[first - 1 : first + 2] == ["03-51", "✗ wrong", "03-15"]


def locales_of(*right: int) -> LocaleScores:
    """Of locales with ten dates each, so many of them right."""
    by_locale = {name: Ratio(float(count), 10) for name, count in zip(LOCALES, right, strict=False)}
    return locale_scores(DemoResult((), (), by_locale, 1.0))


def test_where_all_others_are_right_one_sentence_says_so():
    found = locales_of(10, 7, 10, 9)
    names = list(LOCALES)
    assert [(row[0], *row[2:]) for row in found.worst.rows] == [
        (names[1], "7 / 10", "70.0 %"),
        (names[3], "9 / 10", "90.0 %"),
    ]
    assert found.others == "2 locales: all of their 20 dates right"
    assert len(found.all.rows) == 4 and found.all.rows[:2] == found.worst.rows


def test_of_many_locales_with_errors_the_worst_five_are_shown():
    found = locales_of(9, 8, 7, 6, 5, 4, 10)
    assert [row[2] for row in found.worst.rows] == ["4 / 10", "5 / 10", "6 / 10", "7 / 10", "8 / 10"]
    assert found.others == "2 other locales: 19 of their 20 dates right"


def test_without_errors_there_is_the_sentence_alone():
    found = locales_of(10, 10)
    assert not found.worst.rows and found.others == "2 locales: all of their 20 dates right"
    assert locales_of(9).others == ""


def test_right_and_wrong_dates_are_shown_and_counted():
    page = Page(demo_report("en", faults=3))
    assert "The first 9 of 487 right ones and the first 3 of 3 wrong ones." in page.texts
    assert page.texts.count("✓ right") == 9 and page.texts.count("✗ wrong") == 3 and page.texts.count("yours") == 2


def test_where_nothing_is_wrong_the_choice_says_so():
    page = Page(demo_report("en", faults=0))
    assert "The first 9 of 490 dates, all of which are right." in page.texts
    assert "49 locales: all of their 490 dates right" in page.texts


@pytest.mark.parametrize(
    "evil", ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "</style><b>", "$body ${title}"]
)
def test_no_text_becomes_markup(evil: str):
    # As long as the other, so that labels are cut and leaned in the same way.
    harmless, page = Page(report("w" * len(evil))), Page(report(evil))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert [set(attributes) for _, attributes in page.elements] == [set(more) for _, more in harmless.elements]
    assert page.texts.count(evil) >= 15


def test_the_language_cannot_leave_its_attribute():
    page = Page(report(language='en" onload="x'))
    assert set(page.attributes("html")[0]) == {"lang"}


def test_it_asks_for_nothing():
    source = report()
    page = Page(source)
    policy = next(item for item in page.attributes("meta") if item.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in page.elements}
    addresses = set(re.findall(r"https?://[^\"'\s<>]+", source))
    assert addresses == {"http://www.w3.org/2000/svg"}, "only the name of a format, which nobody fetches"
    assert "url(" not in source and "@import" not in source
    loading = [value for _, more in page.elements for name, value in more.items() if name in {"src", "href", "data"}]
    assert loading == ["data:,"]


def test_languages_and_directions():
    page = Page(report())
    assert page.attributes("html") == [{"lang": "en"}]
    words = [item for item in page.attributes("td") if item.get("class") == "text"]
    assert [item.get("lang") for item in words[:3]] == ["de", "words", None]
    assert "prefers-color-scheme: dark" in report()


def test_characters_that_cannot_be_written_do_not_stop_it():
    assert "a\ufffd\ufffdb" in report("a\x00\ud800b").encode().decode()
