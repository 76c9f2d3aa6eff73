"""Generated sentences with tagged names: a tag for each word, and no name in two splits."""

from itertools import islice

import pytest

from openwork.data.corpora import catalogue
from openwork.data.corpora.entities import generate, places
from openwork.metrics.labels import spans

SPLITS = ("train", "valid", "test")


def names(split: str) -> set[tuple[str, str]]:
    """The kinds and names in a split."""
    found = set()
    for source, target in generate(split, 400):
        words, tags = source.split(), target.split()
        assert len(words) == len(tags)
        found |= {(kind, " ".join(words[first : last + 1])) for kind, first, last in spans(tags)}
    return found


def test_every_name_belongs_to_one_split() -> None:
    found = [names(split) for split in SPLITS]
    assert all(len({kind for kind, _ in one}) == 3 for one in found)
    assert found[0] & found[1] == found[1] & found[2] == found[0] & found[2] == set()


def test_the_same_words_are_in_names_of_several_kinds() -> None:
    words = {kind: {word for one, name in names("train") if one == kind for word in name.split()}
             for kind in ("PER", "LOC", "ORG")}  # fmt: skip
    assert {"Jordan", "Kenya"} & words["PER"] & words["LOC"] and words["PER"] & words["ORG"]
    assert len(places()) > 200


@pytest.mark.parametrize("split", SPLITS)
def test_it_is_deterministic_and_a_longer_run_begins_with_a_shorter_one(split: str) -> None:
    short = list(generate(split, 20, seed=3))
    assert list(islice(generate(split, 50, seed=3), 20)) == short != list(generate(split, 20, seed=4))
    assert list(catalogue.load("entities", split, count=20, seed=3)) == short


def test_a_split_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="dev"):
        next(generate("dev", 1))
