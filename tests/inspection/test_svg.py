"""The writer of SVG: what comes out parses as XML and says what went in."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.phrases import Beside
from openwork.base.printing import UNSAFE
from openwork.inspection.svg import Markup, broken, element, figure, number, shortened, text, text_width

ISOLATES = "\u2068\u2069"
# What an XML reader gives back unchanged: "\r" is read as "\n", and the rest is forbidden, a lone surrogate, or unsafe
# and written as an escape.
LEGAL = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
).filter(lambda written: not UNSAFE.search(written))


def test_an_element():
    made = element("text", "a < b", element("tspan", "&"), x=1.5, font_size=12, class_="note", fill=None)
    assert made == '<text x="1.5" font-size="12" class="note">a &lt; b<tspan>&amp;</tspan></text>'


@given(LEGAL, LEGAL)
def test_any_text_survives(content: str, attribute: str):
    read = ElementTree.fromstring(element("text", content, data_name=attribute))
    assert (read.text or "").strip(ISOLATES) == content
    assert (read.get("data-name") or "").strip(ISOLATES) == attribute


@given(st.text())
def test_nothing_breaks_the_document(content: str):
    assert len(ElementTree.fromstring(element("text", content, data_name=content))) == 0


HEBREW, ARABIC = "21 אוגוסט 2016", "٢١ أغسطس"


def test_text_from_right_to_left_is_isolated_and_no_other():
    assert text(HEBREW) == f"\u2068{HEBREW}\u2069" and text(ARABIC) == f"\u2068{ARABIC}\u2069"
    assert text("21 août 2016: 猫 <b>") == "21 août 2016: 猫 &lt;b&gt;"
    beside = Beside(HEBREW, "2016-08-21")
    assert text(beside) == f"\u2068{HEBREW}\u2069 → 2016-08-21" and beside == f"{HEBREW} → 2016-08-21"
    assert element("g", aria_label=beside) == f'<g aria-label="\u2068{HEBREW}\u2069 → 2016-08-21"></g>'


def test_a_text_brings_no_isolates_of_its_own():
    """An isolate that is left open, or an end too many, would reach beyond its text: both are shown as characters."""
    assert text(f"\u2069{HEBREW}\u2067") == f"\u2068\\u2069{HEBREW}\\u2067\u2069"


def test_what_is_cut_stays_isolated():
    cut = shortened(Beside(HEBREW, "2016-08-21"), 20)
    assert cut == f"{HEBREW} → 20…" and text(cut) == f"\u2068{HEBREW}\u2069 → 20…"
    assert text(shortened(Beside(HEBREW, "2016-08-21"), 9)) == "\u206821 אוגוס…\u2069"
    assert shortened(Beside("a", "b"), 9) == "a → b" and shortened(Beside("abcd", "e"), 6) == "abcd…"


def test_a_text_in_lines():
    """Worked by hand: 0.6 em a character at size 10 are 6; 30 hold five. Chinese characters are 10 wide."""
    assert broken("ab cd ef", 30, 10) == ["ab cd", "ef"]
    assert broken("abcdefgh ij", 30, 10) == ["abcdefgh", "ij"]
    assert broken("日本語中文", 30, 10) == ["日本語", "中文"]


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
