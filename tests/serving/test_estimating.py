"""The estimated tokens of a text: worked by hand, safe before anything is known, and near the truth afterwards."""

import pytest

from openwork.serving.estimating import KINDS, LEAST, LONGEST, TokenEstimate

ENGLISH, RUSSIAN, CHINESE, UMLAUTS = "A dog runs.", "Собака бежит", "一只狗在跑", "Über die Straße geht ein Hund"


def test_at_first_a_character_is_a_token() -> None:
    estimate = TokenEstimate()
    for text in (ENGLISH, RUSSIAN, CHINESE):
        assert estimate.tokens(text) == pytest.approx(len(text) + 1, abs=1)
    assert estimate.tokens("") == 1


def test_it_learns_from_what_was_counted() -> None:
    estimate = TokenEstimate()
    for _ in range(100):
        estimate.learn(ENGLISH, 5)  # 4 pieces of 11 bytes, and the end
    assert estimate.tokens(ENGLISH * 10) == pytest.approx(41, abs=3)
    assert estimate.tokens(UMLAUTS) == pytest.approx(1 + len(UMLAUTS) * 4 / 11, abs=3)  # as English
    assert estimate.tokens(CHINESE) == 6  # of another kind


def test_a_byte_is_never_taken_for_next_to_nothing() -> None:
    estimate = TokenEstimate()
    for _ in range(2000):
        estimate.learn("a" * 1000, 2)
    assert estimate.tokens("a" * 8000) >= LEAST * 8000
    assert KINDS == 3


def test_a_change_of_the_texts_is_learnt_within_some_hundreds() -> None:
    estimate = TokenEstimate()
    for _ in range(1000):
        estimate.learn(ENGLISH, 3)
    for _ in range(300):
        estimate.learn(ENGLISH, 12)
    assert estimate.tokens(ENGLISH) == pytest.approx(12, abs=1)


def test_a_huge_text_counts_by_its_beginning_and_teaches_nothing() -> None:
    estimate = TokenEstimate()
    estimate.learn("a" * 10 * LONGEST, 1024)
    assert estimate.tokens("a" * 10 * LONGEST) == LONGEST + 1
