"""Figures of a corpus, on cases worked out by hand and against the library's own percentiles."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.filters import FilterSettings
from openwork.data.records import Pair
from openwork.data.statistics import PERCENTILES, CorpusStatistics, SideStatistics, percentiles


def side(*sentences: str) -> SideStatistics:
    found = SideStatistics()
    for sentence in sentences:
        found.add(sentence)
    return found


def test_a_side_by_hand() -> None:
    found = side("a b", "a b", "", "   ", "Ein Taxi kommt")
    assert found.lengths_in_words == {0: 2, 2: 2, 3: 1}
    assert found.lengths_in_characters == {0: 1, 3: 3, 14: 1}
    values = found.values()
    assert (values["empty"], values["words"], values["characters"]) == (2, 7, 3 + 3 + 0 + 3 + 14)
    assert values["different_characters"] == len(set("a b   Ein Taxi kommt"))
    assert values["words_a_line"] == {"p5": 0, "p50": 2, "p95": 3, "p99": 3, "p100": 3}


def test_pairs_by_hand() -> None:
    pairs = (Pair("ab", "abc"), Pair("ab", "abcd"), Pair("ab", "abc"), Pair("x", "x"), Pair("", "y"))
    found = CorpusStatistics.of(pairs, FilterSettings())
    assert found.pairs == 5 and found.identical == 1 and found.filtered.kept == 4
    assert found.ratios == {150: 2, 200: 1, 100: 1}


def test_scripts() -> None:
    assert side("我爱 Python。").scripts() == {"Latin": 6 / 8, "Han": 2 / 8}
    assert side("ＡＢ").scripts() == {"Latin": 1.0}  # full-width forms
    assert side("Привет, мир").scripts() == {"Cyrillic": 1.0}
    assert list(side("ひらがなカタカ").scripts()) == ["Hiragana", "Katakana"]
    assert side("12 !?").scripts() == {}
    assert side("a" * 10_000 + "я").scripts() == {"Latin": 10_000 / 10_001}  # one foreign letter is left out


@given(st.lists(st.integers(0, 50), min_size=1))
def test_percentiles_are_those_of_the_values_one_by_one(values: list[int]) -> None:
    expected = np.percentile(values, PERCENTILES, method="inverted_cdf").tolist()
    assert list(percentiles(Counter(values)).values()) == expected


def test_no_values_have_no_percentiles() -> None:
    assert set(percentiles(Counter()).values()) == {0}


@given(st.text())
def test_any_text_can_be_counted(text: str) -> None:
    found = side(text, text)
    assert found.values()["characters"] == 2 * len(text)
    assert all(0 < share <= 1 for share in found.scripts().values())
