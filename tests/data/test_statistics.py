"""Figures of a corpus, on cases worked out by hand and against the library's own percentiles."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.records import Pair
from openwork.data.statistics import PERCENTILES, CorpusStatistics, SideStatistics, nearest_rank


def side(*sentences: str) -> SideStatistics:
    found = SideStatistics()
    for sentence in sentences:
        found.add(sentence)
    return found


def test_a_side_by_hand() -> None:
    found = side("a b", "a b", "", "   ", "Ein Taxi kommt")
    assert (found.empty, found.words, found.characters) == (2, 7, 3 + 3 + 0 + 3 + 14)
    assert found.lengths_in_words == {0: 2, 2: 2, 3: 1}
    assert found.lengths_in_characters == {0: 1, 3: 3, 14: 1}
    assert found.seen.repeated == 1
    assert len(found.used) == len(set("a b   Ein Taxi kommt"))


def test_pairs_by_hand() -> None:
    found = CorpusStatistics()
    for pair in (Pair("ab", "abc"), Pair("ab", "abcd"), Pair("ab", "abc"), Pair("x", "x"), Pair("", "y")):
        found.add(pair)
    assert found.pairs == 5 and found.identical == 1
    assert found.seen.repeated == 1 and found.source.seen.repeated == 2 and found.target.seen.repeated == 1
    assert found.ratios == {150: 2, 200: 1, 100: 1}


def test_overlap_counts_each_occurrence_on_its_own_side() -> None:
    train, test = side("a", "b", "b"), side("b", "c", "b")
    assert test.seen.among(train.seen) == 2 and train.seen.among(test.seen) == 2
    assert side().seen.among(train.seen) == 0 and train.seen.among(side().seen) == 0
    assert side().seen.repeated == 0


def test_a_pair_is_more_than_its_sides() -> None:
    """(a, bc) and (ab, c) are two pairs, though they are the same characters."""
    found = CorpusStatistics()
    found.add(Pair("a", "bc"))
    found.add(Pair("ab", "c"))
    assert found.seen.repeated == 0


def test_scripts() -> None:
    assert side("我爱 Python。").scripts() == {"Latin": 6 / 8, "Han": 2 / 8}
    assert side("ＡＢ").scripts() == {"Latin": 1.0}  # full-width forms
    assert side("Привет, мир").scripts() == {"Cyrillic": 1.0}
    assert list(side("ひらがなカタカ").scripts()) == ["Hiragana", "Katakana"]
    assert side("12 !?").scripts() == {}
    assert side("a" * 10_000 + "я").scripts() == {"Latin": 10_000 / 10_001}  # one foreign letter is left out


@given(st.lists(st.integers(0, 50), min_size=1), st.sampled_from(PERCENTILES))
def test_percentiles_agree_with_numpy(values: list[int], percent: int) -> None:
    expected = np.percentile(values, percent, method="inverted_cdf")
    assert nearest_rank(Counter(values), percent) == expected


def test_no_values_have_no_percentiles() -> None:
    assert nearest_rank(Counter(), 50) == 0


@given(st.text())
def test_any_text_can_be_counted(text: str) -> None:
    found = side(text, text)
    assert found.characters == 2 * len(text) and found.seen.repeated == 1
    assert all(0 < share <= 1 for share in found.scripts().values())
