"""Copy and reverse: the answer is right by construction, and no sequence is in two splits."""

import pytest

from openwork.data.corpora.synthetic import LONGEST, SHORTEST, copy, reverse


def test_answers_are_right_and_lengths_span_the_range() -> None:
    for source, target in copy("train", 500):
        assert target == source
    lengths = set()
    for source, target in reverse("train", 500):
        assert target == source[::-1]  # single letters: reversing the text reverses the symbols
        lengths.add(len(source.split(" ")))
    assert lengths == set(range(SHORTEST, LONGEST + 1))


@pytest.mark.slow
def test_splits_share_no_sequence() -> None:
    train, valid, test = ({pair.source for pair in copy(split, 4000)} for split in ("train", "valid", "test"))
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_a_seed_fixes_the_pairs_and_longer_runs_begin_alike() -> None:
    assert list(copy("train", 50, seed=4)) == list(copy("train", 90, seed=4))[:50]
    assert list(copy("train", 50, seed=4)) != list(copy("train", 50, seed=5))
    assert [pair.source for pair in copy("test", 5)] == [pair.source for pair in reverse("test", 5)]
