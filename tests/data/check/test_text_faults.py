"""Faults that a text shows by itself, each planted; and texts that are odd and right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.check import text
from openwork.data.check.faults import EXAMPLES, SHOWN, Fault, Gathered, shorten
from openwork.data.check.text import BLANK, is_damaged, kinds_of, text_faults
from openwork.data.records import Pair


def misread(good: str, encoding: str = "cp1252") -> str:
    return good.encode("utf-8").decode(encoding)


@pytest.mark.parametrize(
    ("given_text", "kinds"),
    [
        ("Ein Hund läuft.", []),
        ("两个人在跑步。", []),
        ("Он сказал: «да».", []),
        ("R&D in the U.S. <3", []),
        ("👩‍👩‍👧 in the park", []),  # joined on purpose
        ("Er rief „Ä“ und „Ö“!", []),  # a letter and a quote, and no damage
        ("\u3000全角空格", ["odd spaces"]),
        (misread("Ein Hund läuft."), [text.DAMAGED]),
        (misread("läuft", "latin-1"), [text.DAMAGED, "control characters"][:1]),
        (misread("it’s"), [text.DAMAGED]),
        (misread("两个人"), [text.DAMAGED]),
        (misread("собака", "latin-1"), [text.DAMAGED, "control characters"]),
        (misread("а б в"), [text.DAMAGED]),
        (misread("а б"), []),  # two could be a letter and a sign on purpose
        ("a \ufffd b", [text.DAMAGED]),
        ("bell \x07", ["control characters"]),
        ("Tom &amp; Ann", ["escapes of a web page"]),
        ("It&#39;s", ["escapes of a web page"]),
        ("a<br/>b", ["escapes of a web page"]),
        ("la\u0308uft", ["letters separate from their marks (not NFC)"]),
        ("soft\u00adhyphen", ["invisible characters"]),
        ("zero\u200bwidth", ["invisible characters"]),
        (" a", ["odd spaces"]),
        ("a  b", ["odd spaces"]),
        ("a\tb", ["odd spaces"]),
    ],
)
def test_each_fault_is_seen_and_nothing_else(given_text: str, kinds: list[str]) -> None:
    assert list(kinds_of(given_text)) == kinds


def test_both_sides_are_looked_at() -> None:
    faults = list(text_faults(Pair("a  b", ""), 7))
    assert faults == [Fault("odd spaces", 7, "a  b"), Fault(BLANK, 7, "a  b")]


@pytest.mark.slow
@given(st.text())
def test_any_text_is_judged(anything: str) -> None:
    assert set(kinds_of(anything)) <= {
        text.DAMAGED,
        "control characters",
        "escapes of a web page",
        "letters separate from their marks (not NFC)",
        "invisible characters",
        "odd spaces",
    }


@given(st.text(alphabet="äöüßéèñÄÖÜ", min_size=1))
def test_letters_of_the_west_that_were_misread_are_damage(letters: str) -> None:
    assert is_damaged(f"ein {misread(letters, 'latin-1')} wort")


def test_faults_are_gathered_once_a_line_and_shown_in_few() -> None:
    gathered = Gathered(9)
    gathered.add(Fault("odd", line, "x" * 100) for line in (1, 1, 2, 3, 4, 5, 6))
    assert {kind: list(lines) for kind, lines in gathered.lines.items()} == {"odd": [1, 2, 3, 4, 5, 6]}
    assert len(gathered.examples["odd"]) == EXAMPLES and len(gathered.examples["odd"][0].shown) == SHOWN
    assert shorten("a\x00b\u200b") == "a\\u0000b\\u200b"
