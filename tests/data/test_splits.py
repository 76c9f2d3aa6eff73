"""The split of an example follows from its content, in the proportion 8 : 1 : 1."""

from collections import Counter

from openwork.data.splits import SPLITS, split_of


def test_the_proportion_and_that_it_never_changes() -> None:
    counts = Counter(split_of(str(number)) for number in range(20_000))
    assert set(counts) == set(SPLITS)
    assert abs(counts["train"] / 20_000 - 0.8) < 0.01
    assert abs(counts["valid"] / 20_000 - 0.1) < 0.01
    # Written down: a change would let a trained model see its test dates.
    march = [split_of(f"2021-03-{day:02}") for day in range(1, 13)]
    assert march == ["train", "valid", *["train"] * 8, "valid", "test"]
