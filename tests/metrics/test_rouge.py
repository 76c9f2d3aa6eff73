"""ROUGE by hand, against every common subsequence of short texts, and at its borders."""

from itertools import combinations
from random import Random

import pytest

from openwork.metrics.translation import longest_common, rouge, words


def test_by_hand() -> None:
    # Lin's own example (2004, section 3): "police killed the gunman"
    kills = rouge("police killed the gunman", "police kill the gunman")
    assert kills == pytest.approx((3 / 4, 1 / 3, 3 / 4))  # the gunman is the one pair of three
    assert rouge("police killed the gunman", "the gunman kill police").longest == pytest.approx(1 / 2)  # the gunman
    # 2 of 3 words said, of 5 that are right: 2 * 2 / (3 + 5); a c in this order
    assert rouge("a b c d e", "a x c") == pytest.approx((1 / 2, 0, 1 / 2))


def test_a_word_counts_as_often_as_on_both_sides() -> None:
    assert rouge("the cat", "the the the") == pytest.approx((2 / 5, 0, 2 / 5))


def test_case_and_marks_do_not_count() -> None:
    assert words("Return `x_1`, or None.") == ["return", "x", "1", "or", "none"]
    assert rouge("Return None.", "return: none!") == (1, 1, 1)
    assert words("我有2 本书。") == ["我", "有", "2", "本", "书"]


def test_nothing_to_count() -> None:
    assert rouge("", "") == rouge("a", "") == rouge("да", "да") == (0, 0, 0)
    assert rouge("a", "a") == (1, 0, 1)  # one word has no pairs


def test_longest_common_is_the_longest_of_all() -> None:
    random = Random(1)

    def parts(text: list[str]) -> set[tuple[str, ...]]:
        return {part for size in range(len(text) + 1) for part in combinations(text, size)}

    for _ in range(200):
        first, second = (random.choices("abc", k=random.randint(0, 7)) for _ in range(2))
        assert longest_common(first, second) == max(map(len, parts(first) & parts(second)))
