"""The templates' filters: text from outside is text, in its own direction."""

import pytest

from html_page import Page
from made_pages import HEBREW, HOSTILE, ISO, PAGES
from openwork.base.pages import bdi, isolated, sentence
from openwork.base.phrases import Beside


def test_elements_of_a_page() -> None:
    assert bdi("<b>") == "<bdi>&lt;b&gt;</bdi>"
    assert bdi(Beside(HEBREW, "<b>")) == f"<bdi>{HEBREW}</bdi> → <bdi>&lt;b&gt;</bdi>"
    assert bdi("a\u202eb") == "<bdi>a\\u202eb</bdi>"


def test_plain_text() -> None:
    assert isolated(Beside(Beside(HEBREW, ISO), HEBREW, between=": ")) == (
        f"\u2068{HEBREW}\u2069 → {ISO}: \u2068{HEBREW}\u2069"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A < B: none (-0.50)", "A &lt; B: none (-0.50)"),
        ("Differ: שם ועוד (-0.50), one", "Differ: <bdi>שם ועוד</bdi> (-0.50), one"),
        ("שם and שם", "<bdi>שם</bdi> and <bdi>שם</bdi>"),
    ],
)
def test_names_in_a_sentence(text: str, shown: str) -> None:
    assert sentence(text) == shown


@pytest.mark.parametrize("kind", sorted(set(PAGES) - {"explain", "app"}))
def test_every_page_without_a_script_isolates_what_it_is_given(kind: str) -> None:
    """Everywhere: a text from right to left is inside of a bdi element or of Unicode isolates."""
    source = PAGES[kind]("en")
    page = Page(source)
    bare = [text for text, inside in page.nested if HEBREW in text and "bdi" not in inside and "\u2068" not in text]
    assert bare == []
    attributes = [value for _, more in page.elements for value in more.values() if value and HEBREW in value]
    assert all("\u2068" in value for value in attributes)
    assert HOSTILE not in source
    assert kind == "study" or HEBREW in source, "or there was nothing to test"
