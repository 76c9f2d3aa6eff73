"""Filters: each rule on pairs chosen by hand, and a report that adds up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.filters import FilterSettings, apply
from openwork.data.records import Pair

LONG, SHORT = "a" * 200, "b" * 22


@pytest.mark.parametrize(
    ("pair", "settings", "reason"),
    [
        (Pair("a", "b"), {}, None),
        (Pair(" \t", "\u3000"), {}, "blank on both sides"),
        (Pair("", "b"), {}, "source is blank"),
        (Pair("a", " "), {}, "target is blank"),
        (Pair("", "b"), {"drop_blank": False}, None),
        (Pair("a" * 2001, "b" * 2000), {}, "longer than 2,000 characters"),
        (Pair("a" * 2000, "b" * 2000), {}, None),
        (Pair(LONG, SHORT), {}, "one side more than 9 times the other"),  # 200 / 22 = 9.09
        (Pair(SHORT, LONG), {}, "one side more than 9 times the other"),
        (Pair(LONG, SHORT), {"maximum_ratio": 10}, None),
        (Pair("a", "b" * 180), {}, None),  # 180 / 20
        (Pair("a", "b" * 181), {}, "one side more than 9 times the other"),
        (Pair("Hi", "Guten Tag zusammen, wie geht es?"), {}, None),  # short lines count as 20
        (Pair("same", "same"), {}, None),
        (Pair("same", "same"), {"drop_identical": True}, "source and target are the same"),
    ],
)
def test_each_rule(pair: Pair, settings: dict, reason: str | None) -> None:
    kept, report = apply([pair], FilterSettings(**settings))
    assert list(kept) == ([pair] if reason is None else [])
    assert {name: dropped.count for name, dropped in report.dropped.items()} == ({reason: 1} if reason else {})


def test_the_report_counts_and_names_lines() -> None:
    pairs = [Pair("a", "b"), Pair("", "b"), Pair("a", "b" * 3000)] + [Pair("", "b")] * 1200
    kept, report = apply(pairs, FilterSettings())
    assert report.kept == 0  # nothing has been read yet
    assert list(kept) == [Pair("a", "b")]
    assert report.lines() == [
        "kept 1 of 1,203 pairs",
        "dropped 1,201: source is blank (lines 2, 4, 5, 6, 7, ...)",
        "dropped 1: longer than 2,000 characters (line 3)",
    ]
    assert report.dropped_pairs == 1202


@given(pairs=st.lists(st.builds(Pair, st.text(max_size=9), st.text(max_size=9)), max_size=30))
def test_kept_and_dropped_add_up_and_order_stays(pairs: list[Pair]) -> None:
    kept, report = apply(pairs, FilterSettings(maximum_characters=5, drop_identical=True))
    kept = list(kept)
    assert report.kept == len(kept)
    assert report.kept + report.dropped_pairs == len(pairs)
    remaining = iter(pairs)
    assert all(pair in remaining for pair in kept)  # a subsequence
