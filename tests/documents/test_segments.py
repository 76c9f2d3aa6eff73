"""Texts with marks: pairs are found, and what crosses or has no partner is alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.showing import has_same_marks, is_well_formed, parts_of, shown
from openwork.documents.segments import Role, Tag, joined, marks_of, paired, plain, tags_by_key

OPEN, CLOSE, ALONE = Role.OPEN, Role.CLOSE, Role.ALONE


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        (["a ", Tag("b", OPEN), "x", Tag("b", CLOSE), " c"], "a [0:x:0] c"),
        ([Tag("b", OPEN), Tag("i", OPEN), "x", Tag("i", CLOSE), Tag("b", CLOSE)], "[0:[1:x:1]:0]"),
        # crossing: what was opened within and is still open has no partner
        ([Tag("b", OPEN), "x", Tag("i", OPEN), "y", Tag("b", CLOSE), "z", Tag("i", CLOSE)], "[0:x[1]y:0]z[2]"),
        (["x", Tag("b", CLOSE), Tag("b", OPEN), "y"], "x[0][1]y"),
        ([Tag("b", OPEN), Tag("b", OPEN), "x", Tag("b", CLOSE)], "[0][1:x:1]"),
        (["run ", Tag("code", ALONE, "ls"), Tag("br", ALONE)], "run [0=ls][1]"),
        ([], ""),
    ],
)
def test_pairs(items: list[str | Tag], wanted: str) -> None:
    assert shown(paired(items)) == wanted
    assert parts_of(wanted) == paired(items)


_ITEMS = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=3),
        st.builds(Tag, st.sampled_from("abc"), st.sampled_from([OPEN, CLOSE, ALONE])),
    ),
    max_size=12,
)


@given(_ITEMS)
def test_any_tags_become_well_formed_marks(items: list[str | Tag]) -> None:
    parts = paired(items)
    assert is_well_formed(parts)
    assert plain(parts) == "".join(item for item in items if isinstance(item, str))
    tags = [item for item in items if isinstance(item, Tag)]
    by_key = tags_by_key(items)
    assert [by_key[mark.key, mark.role] for mark in marks_of(parts)] == tags
    for mark in marks_of(parts):
        if mark.role is OPEN:
            assert by_key[mark.key, OPEN].name == by_key[mark.key, CLOSE].name


def test_form_and_sameness() -> None:
    assert not is_well_formed(parts_of("[0:a[1:b:0]c:1]"))
    assert not is_well_formed(parts_of("[0:a"))
    assert not is_well_formed(parts_of("a:0]"))
    assert has_same_marks(parts_of("[0:a:0] [1]"), parts_of("x [1] [0::0]"))
    assert not has_same_marks(parts_of("[0:a:0] [1]"), parts_of("[0:a:0]"))
    assert not has_same_marks(parts_of("[1]"), parts_of("[1][1]"))
    assert joined(["a", "", "b", *parts_of("[0]"), ""]) == ("ab", *parts_of("[0]"))
