"""The baseline of answers within a text: odds by hand, the best run against all runs, what it tells and scores."""

import math
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.data.records import Pair
from openwork.evaluation.baselines import WordCounts, answers, are_answers, best_run, label_baseline

TRAIN = [
    Pair("to\tfrom rome to bonn", "4 4"),
    Pair("to\tfrom bonn to new york", "4 5"),
    Pair("to city\tto rome please", "3 3"),
    Pair("from\tfrom rome to bonn", "2 2"),
]


def test_odds_by_hand() -> None:
    words = WordCounts()
    words.learn(["a", "b", "a"], 0, 1)
    share = (2 + 1) / (3 + 2)  # of three words two were in the answer
    likely = {"a": (1 + share) / (2 + 1), "b": (1 + share) / (1 + 1), "c": share}
    for word, wanted in likely.items():
        assert words.odds(word) == pytest.approx(math.log(wanted / (1 - wanted)))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_the_best_run_is_the_best_of_all(values: list[int]) -> None:
    first, last = best_run(values)
    runs = combinations_with_replacement(range(len(values)), 2)
    assert sum(values[first : last + 1]) == max(sum(values[one : other + 1]) for one, other in runs)


def test_best_runs_by_hand() -> None:
    assert best_run([-1, 2, -1, 3, -5, 3]) == (1, 3)
    assert best_run([-2, -1, -3]) == (1, 1)  # one word at least
    assert best_run([0, 1, 0]) == (1, 1)  # the shortest of equals


def test_questions_are_answered_by_their_own_counts() -> None:
    what, tell = answers(TRAIN)
    assert what == "the run of words that were most often in the answer to the same question"
    # the words of "to city" count: the text begins at word 2
    assert tell(["to\tfrom bonn to new york", "to city\tto rome please"]) == ["4 5", "3 3"]
    # never asked: by all texts, where bonn was in one answer of its three times, and rome in two
    assert tell(["whence\tfrom bonn to rome"]) == ["4 4"]


def test_scores_and_what_is_saved() -> None:
    found, saved = label_baseline(TRAIN, [Pair("to\tfrom rome to new york", "4 5")], "cities")
    assert {score.name: score.value for score in found.scores} == {"word F1": 100.0, "exact": 100.0}
    assert saved.task == "answer" and list(saved.translations) == ["4 5"]


def test_two_tags_are_no_answers() -> None:
    assert are_answers([Pair("a b c", "0 1"), Pair("a b", "1 1")])
    assert not are_answers([Pair("a b", "1 1"), Pair("c d", "0 1")])  # tags that happen to be numbers
    assert not are_answers([Pair("a b c", "0 x")]) and not are_answers([Pair("a b c", "0 1 1")])
