"""Generated dialogues: every reply follows from what was said, and no booking is in two splits."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.dialogues import ASSISTANT, TALKS, USER, generate
from openwork.data.records import Pair
from openwork.text.languages import written_without_spaces

SPLITS = ("train", "valid", "test")


def conversations(pairs: list[Pair]) -> Iterator[list[Pair]]:
    """The pairs of each conversation: the source of one begins with that of the one before."""
    found: list[Pair] = []
    for pair in pairs:
        if found and not pair.source.startswith(found[-1].source):
            yield found
            found = []
        found.append(pair)


def facts(reply: str) -> list[str]:
    """What a reply names, without the words around it."""
    values = sorted({text for talk in TALKS for slot in talk.slots.values() for text in slot.written}, key=len)
    known = "|".join(re.escape(value) for value in reversed(values))
    return re.findall(rf"(?<![\w:])(?:{known})(?![\w:])" if reply.isascii() else known, reply)


def test_a_pair_is_the_conversation_so_far_and_the_reply() -> None:
    for talk in conversations(list(generate("train", 300))):
        assert talk[0].source.startswith(f"{USER} ") and talk[0].source.count(USER) == 1
        for one, following in pairwise(talk):
            assert following.source.startswith(f"{one.source} {one.target} {USER} ")
            assert following.source.endswith(f" {ASSISTANT}")
            assert following.source.count(USER) == one.source.count(USER) + 1


def test_what_was_checked_last_is_what_is_booked() -> None:
    finished = 0
    for talk in conversations(list(generate("train", 600))):
        checked, booked = talk[-2].target, talk[-1].target
        assert checked.endswith(("?", "？")) and not booked.endswith(("?", "？"))
        assert sorted(facts(checked)) == sorted(facts(booked)) and len(facts(booked)) >= 3
        finished += 1
    assert finished > 80


def test_times_are_whole_and_half_hours_of_an_evening() -> None:
    times = [slot.written for talk in TALKS for name, slot in talk.slots.items() if name == "time"]
    hours = ["17:00", "17:30", "18:00", "18:30", "19:00", "19:30", "20:00", "20:30", "21:00", "21:30"]
    assert len(times) == len(TALKS) and all(list(written) == hours for written in times)


def test_the_last_word_on_a_day_counts() -> None:
    """Whatever form the person says a day in, the reply has the day that was named last."""
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    seen = 0
    for talk in conversations(list(generate("train", 1500))):
        said = "".join(re.findall(rf"{USER}(.*?)(?={ASSISTANT})", talk[-1].source))
        named = re.findall("|".join(days), said)
        if named:
            assert f"on {named[-1]} " in talk[-1].target
            seen += len(set(named)) > 1  # corrected
    assert seen > 3


@pytest.mark.slow
def test_no_booking_is_in_two_splits() -> None:
    checked = [{pair.target for pair in generate(split, 3000) if facts(pair.target)} for split in SPLITS]
    assert all(len(one) > 300 for one in checked)
    assert not checked[0] & checked[1] and not checked[0] & checked[2] and not checked[1] & checked[2]


def test_the_same_for_the_same_seed_and_longer_begins_with_shorter() -> None:
    some = list(generate("valid", 100, seed=3))
    assert list(generate("valid", 40, seed=3)) == some[:40] and len(some) == 100
    assert list(generate("valid", 100, seed=4)) != some
    with pytest.raises(ValueError, match="dev"):
        next(generate("dev", 1))


def test_both_languages_and_the_name() -> None:
    some = list(corpora.load("dialogues", "valid"))
    chinese = [pair for pair in some if any(map(written_without_spaces, pair.target))]
    assert len(some) == 1000 and 200 < len(chinese) < 600
    assert all(any(map(written_without_spaces, pair.source)) for pair in chinese)
