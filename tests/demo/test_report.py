"""The report: one file that is complete, loads nothing, and lets no text become markup."""

import re
from typing import Any

import numpy as np
import pytest

from html_page import Page
from openwork.base.pages import render
from openwork.demo.report import Sample
from openwork.inspection.attention_view import AttentionMap
from openwork.inspection.plots import Chart, Figures, Series


def report(words: str = "words", **others: Any) -> str:
    """A report in which `words` stands wherever a text can stand."""
    values: dict[str, Any] = {
        "title": words,
        "summary": words,
        "headline": ((words, words),),
        "settings": ((words, words),),
        "curves": (Chart(words, words, words, (Series(words, [(1, 2.0), (2, 1.0)]),), log_y=True),),
        "scores": Figures(words, (words, words), ((words, "99.1"),)),
        "samples": (
            Sample(words, words, words, True, "de", note=words),
            Sample(words, words, words, False, words),
        ),
        "attention": (AttentionMap(words, np.eye(2), ((words, words), (words, words)), (words, words), words),),
        "machine": ((words, words),),
        "next_steps": ((words, words),),
    }
    return render("report.html", **values | others)


def test_the_parts_and_their_order():
    page = Page(report())
    headings = [
        "What was trained",
        "Learning curves",
        "Scores",
        "Outputs on held-out examples",
        "Attention weights",
        "Machine and times",
        "What to try next",
    ]
    assert [text for text in page.texts if text in headings] == headings
    assert len(page.attributes("svg")) == 2
    assert page.texts.count("✓ right") == 1 and page.texts.count("✗ wrong") == 1
    assert "99.1" in page.texts


def test_a_date_of_ones_own_is_neither_right_nor_wrong():
    page = Page(report(samples=(Sample("14. März", "03-14", note="yours"), Sample("15. März", "03-15", "03-15", True))))
    cells = page.attributes("td")
    assert [cell.get("class") for cell in cells if cell.get("class") not in ("text", "number")][:3] == [
        None,
        "note",
        "right",
    ]


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
    words = [item for item in page.attributes("td") if item.get("dir") == "auto"]
    assert [item.get("lang") for item in words[:3]] == ["de", None, None]
    assert "prefers-color-scheme: dark" in report()


def test_characters_that_cannot_be_written_do_not_stop_it():
    assert "a\ufffd\ufffdb" in report("a\x00\ud800b").encode().decode()
