"""Placeholders put into pairs that have none: worked by hand, and for any texts both sides have the same."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.text.placeholder_data import FORM, TAGS, with_placeholders
from openwork.text.placeholders import find_placeholders, protect_pair


@pytest.mark.parametrize(
    ("pair", "wanted"),
    [
        (("Seite 12 fehlt.", "Page 12 is missing."), ("Seite %s fehlt.", "Page %s is missing.")),
        (("um 10:30 Uhr", "at 10:30"), ("um %s Uhr", "at %s")),
        (("2 of 2", "2 von 2"), None),  # twice on each side: it is not clear which is which
        (("已有 %s", "has %s"), ("已有 %s", "has %s")),  # it has one
        (("", "a"), ("", "a")),
    ],
)
def test_worked_examples(pair: tuple[str, str], wanted: tuple[str, str] | None) -> None:
    found = with_placeholders(*pair, 1.0)
    if wanted is None:  # in front or around
        assert all(
            one in (f"{FORM} {text}", f"{TAGS[0]}{text}{TAGS[1]}") for one, text in zip(found, pair, strict=True)
        )
    else:
        assert found == wanted


def test_chinese_gets_no_space() -> None:
    found = {with_placeholders(f"猫{n * '喵'}", f"cat {n * 'x'}", 1.0) for n in range(1, 9)}
    assert any(source.startswith("%s猫") and target.startswith("%s cat") for source, target in found)
    assert any(source.startswith("<b>") and target.endswith("</b>") for source, target in found)


def test_a_share_of_the_pairs() -> None:
    pairs = [(f"a {n} dog", f"ein {n} Hund") for n in range(5000)]
    changed = [pair for pair in pairs if with_placeholders(*pair, 0.1) != pair]
    assert 400 < len(changed) < 600
    assert all(with_placeholders(*pair, 0.0) == pair for pair in pairs)
    more = [pair for pair in pairs if with_placeholders(*pair, 0.2) != pair]
    assert set(changed) < set(more)


@given(st.text(max_size=30), st.text(max_size=30), st.floats(0, 1))
def test_any_texts(source: str, target: str, share: float) -> None:
    left, right = with_placeholders(source, target, share)
    if (left, right) == (source, target):
        return
    assert Counter(find_placeholders(left)) == Counter(find_placeholders(right)) != Counter()
    both = protect_pair(left, right, 10)
    assert both[0].spans == both[1].spans != ()
