"""The writer of SVG: what comes out parses as XML and says what went in."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.inspection.svg import Markup, element, figure, number, shortened, text, text_width

# What an XML reader gives back unchanged: "\r" is read as "\n", and the rest is forbidden or a lone surrogate.
LEGAL = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))


def test_an_element():
    made = element("text", "a < b", element("tspan", "&"), x=1.5, font_size=12, class_="note", fill=None)
    assert made == '<text x="1.5" font-size="12" class="note">a &lt; b<tspan>&amp;</tspan></text>'


@given(LEGAL, LEGAL)
def test_any_text_survives(content: str, attribute: str):
    read = ElementTree.fromstring(element("text", content, data_name=attribute))
    assert (read.text or "") == content
    assert read.get("data-name") == attribute


@given(st.text())
def test_nothing_breaks_the_document(content: str):
    assert len(ElementTree.fromstring(element("text", content, data_name=content))) == 0


def test_forbidden_characters_are_shown_as_replaced():
    assert text("a\x00b\x1b\ud800") == "a\ufffdb\ufffd\ufffd"


def test_markup_is_not_escaped_twice():
    assert element("g", Markup("<a></a>"), "<a>") == "<g><a></a>&lt;a&gt;</g>"


@pytest.mark.parametrize(("value", "written"), [(3.0, "3"), (1.256, "1.26"), (-0.001, "0"), (100, "100"), (0.5, "0.5")])
def test_numbers(value: float, written: str):
    assert number(value) == written


def test_width_of_text():
    """Worked by hand: 3 narrow characters of 0.6 em and 2 wide ones of 1 em at size 10; a combining mark has none."""
    assert text_width("abc日本", 10) == pytest.approx(38)
    assert text_width("e\u0301", 10) == pytest.approx(6)


def test_shortened():
    assert [shortened("abcd", 4), shortened("abcde", 4)] == ["abcd", "abc…"]


def test_a_figure_has_title_fonts_and_both_themes():
    made = figure(10, 20, "A <title>")
    root = ElementTree.fromstring(made)
    assert root.get("viewBox") == "0 0 10 20"
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "A <title>"
    assert "Noto Sans CJK SC" in (root.get("font-family") or "")
    assert "prefers-color-scheme:dark" in made
