"""How large a vocabulary must be to have a piece for nearly every character."""

from collections import Counter

import pytest

from openwork.text.pieces.alphabet import LEFT_TO_BYTES, _enough, room_for_alphabet

LATIN = Counter({chr(97 + number): 1000 for number in range(26)})


def han(many: int, times: int) -> Counter[str]:
    return Counter({chr(0x4E00 + number): times for number in range(many)})


def test_a_side_may_leave_just_so_many_characters() -> None:
    ranked = ["a", "b", "c"]
    assert _enough(ranked, [Counter(a=996, b=1, c=3)]) == 2  # 3 of 1,000 are allowed
    assert _enough(ranked, [Counter(a=995, b=1, c=4)]) == 3


def test_few_letters_need_no_more_room() -> None:
    assert room_for_alphabet([LATIN, LATIN], 1000, 260, 4000) == (1000, 5)


def test_half_of_the_room_holds_the_characters_of_both_sides() -> None:
    # 26 letters, and 997 of 1,000 characters that are equally common: 260 + 2 * 1,023 = 2,306 pieces, in steps of 500
    assert LEFT_TO_BYTES == 0.003
    assert room_for_alphabet([han(1000, 30), LATIN], 1000, 260, 8000) == (2500, 5)
    assert room_for_alphabet([han(1000, 30), LATIN], 3000, 260, 8000) == (3000, 5)
    assert room_for_alphabet([han(1000, 30), LATIN], 1000, 260, 2000) == (2000, 5)


def test_what_comes_twice_is_taken_in_where_the_common_characters_are_not_enough() -> None:
    assert room_for_alphabet([han(1000, 3), LATIN], 1000, 260, 8000) == (2500, 2)


@pytest.mark.parametrize("sides", [[Counter()], [Counter("abc")], [Counter(), LATIN]])
def test_small_and_empty_sides(sides: list[Counter[str]]) -> None:
    size, _ = room_for_alphabet(sides, 1000, 260, 4000)
    assert size == 1000
