"""The split of an example follows from its content, in the proportion 8 : 1 : 1."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from openwork.data.corpora.corpus import SPLITS, divide, split_of
from openwork.data.records import Pair


def test_the_proportion_and_that_it_never_changes() -> None:
    counts = Counter(split_of(str(number)) for number in range(20_000))
    assert set(counts) == set(SPLITS)
    assert abs(counts["train"] / 20_000 - 0.8) < 0.01
    assert abs(counts["valid"] / 20_000 - 0.1) < 0.01
    # Written down: a change would let a trained model see its test dates.
    march = [split_of(f"2021-03-{day:02}") for day in range(1, 13)]
    assert march == ["train", "valid", *["train"] * 8, "valid", "test"]


def test_other_proportions() -> None:
    counts = Counter(split_of(str(number), 40) for number in range(40_000))
    assert abs(counts["valid"] - 1000) < 100 and abs(counts["test"] - 1000) < 100


def test_pairs_that_share_a_sentence_stay_together() -> None:
    """a-1, b-1 and b-2 hang together, though a-1 and b-2 share nothing; so each split has all three or none."""
    chain = [Pair("a", "1"), Pair("b", "1"), Pair("b", "2")]
    pairs = [Pair(f"{group}{pair.source}", f"{group}{pair.target}") for group in range(200) for pair in chain]
    found = {split: list(divide(pairs, split)) for split in SPLITS}
    assert [len(each) % 3 for each in found.values()] == [0, 0, 0]
    assert sum(map(len, found.values())) == 600 and all(found.values())
    assert {split: set(divide(pairs[::-1], split)) for split in SPLITS} == {k: set(v) for k, v in found.items()}


@given(st.lists(st.tuples(st.text("abc", max_size=2), st.text("xyz", max_size=2)), max_size=40))
def test_no_sentence_is_in_two_splits(raw: list[tuple[str, str]]) -> None:
    pairs = [Pair(*both) for both in raw]
    found = [list(divide(pairs, split, 4)) for split in SPLITS]
    assert Counter(pair for each in found for pair in each) == Counter(pairs)
    for side in (0, 1):
        sets = [{pair[side] for pair in each} for each in found]
        assert sum(map(len, sets)) == len(set().union(*sets))
