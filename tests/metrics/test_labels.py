"""Scores of labels, spans and numbers: by hand, and equal to scikit-learn's where it is installed."""

import math
from random import Random

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.metrics.labels import (
    Labelled,
    Span,
    Spans,
    accuracy,
    count_spans,
    is_bio,
    macro_f1,
    matthews,
    micro_f1,
    pearson,
    ranks,
    spans,
    spearman,
)
from openwork.metrics.significance import interval

RIGHT = ["a", "a", "a", "b", "b", "c"]
SAID = ["a", "a", "b", "b", "c", "c"]
CORRECT = ["O", "B-x", "I-x", "O", "B-y"]


def test_labels_by_hand() -> None:
    labelled = Labelled.of(RIGHT, SAID)
    assert labelled.table.tolist() == [[2, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert accuracy(labelled) == micro_f1(labelled) == 4 / 6
    # a: 2 * 2 / (2 + 3), b: 2 * 1 / (2 + 2), c: 2 * 1 / (2 + 1)
    assert macro_f1(labelled) == pytest.approx((4 / 5 + 2 / 4 + 2 / 3) / 3)
    # without a: 2 right of 4 said and 3 there are
    assert micro_f1(labelled, [0]) == pytest.approx(2 * 2 / (4 + 3))
    # c s - sum p t = 4 * 6 - (2*3 + 2*2 + 2*1) = 12; s^2 - sum p^2 = 36 - 12, s^2 - sum t^2 = 36 - 14
    assert matthews(labelled) == pytest.approx(12 / math.sqrt(24 * 22))


def test_matthews_of_two_classes_is_the_old_formula() -> None:
    tp, tn, fp, fn = 5, 7, 2, 3
    right = [1] * (tp + fn) + [0] * (tn + fp)
    said = [1] * tp + [0] * fn + [0] * tn + [1] * fp
    expected = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert matthews(Labelled.of(right, said)) == pytest.approx(expected)
    assert matthews(Labelled.of([1, 0], [1, 1])) == 0.0
    assert matthews(Labelled.of([1, 0], [0, 1])) == -1.0


def test_nothing_to_score() -> None:
    empty = Labelled.of([], [])
    assert math.isnan(accuracy(empty)) and math.isnan(macro_f1(empty))
    with pytest.raises(DataError, match="2 outputs cannot be compared with 1 references"):
        Labelled.of(["a"], ["a", "b"])


def test_spans_by_hand() -> None:
    assert spans(CORRECT) == [Span("x", 1, 2), Span("y", 4, 4)]
    assert spans(["B-x", "B-x", "I-y", "I-y", "O", "I-x", "I-x"]) == [
        Span("x", 0, 0),
        Span("x", 1, 1),
        Span("y", 2, 3),  # an I- of another kind begins a span
        Span("x", 5, 6),  # and so does one with nothing before it
    ]
    assert spans(["I-a.b-c", "I-a.b-c"]) == [Span("a.b-c", 0, 1)]
    assert spans([]) == spans(["O", "NOUN", "<unk>"]) == []


def test_a_span_is_found_only_whole() -> None:
    found = count_spans(CORRECT, ["O", "B-x", "O", "O", "B-y"])
    assert found == Spans(2, 2, 1)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert count_spans(CORRECT, ["O"] * 5) == Spans(2, 0, 0)
    assert Spans() == Spans(0, 0, 0)
    assert Spans().f1 == Spans().precision == Spans().recall == 0.0


def test_what_tags_of_spans_look_like() -> None:
    assert is_bio(CORRECT)
    assert not is_bio(["O", "O"]) and not is_bio(["B-x", "NOUN"]) and not is_bio(["negative"])


def test_correlation_by_hand() -> None:
    assert ranks([30, 10, 20, 20]).tolist() == [4, 1, 2.5, 2.5]
    assert pearson([1, 2, 3], [1, 2, 4]) == pytest.approx(3 / math.sqrt(2 * 14 / 3))
    assert spearman([1, 2, 3], [1, 4, 9]) == pytest.approx(1)
    assert pearson([1, 2, 3], [1, 4, 9]) < 1
    assert pearson([1, 2], [2, 1]) == pytest.approx(-1)
    assert math.isnan(pearson([1, 1], [1, 2]))


def test_intervals_hold_what_they_should() -> None:
    hits = np.array([1.0] * 80 + [0.0] * 20)
    low, high = interval(lambda chosen: float(hits[chosen].mean()), len(hits))
    # the normal approximation: 0.8 +- 1.96 sqrt(0.8 * 0.2 / 100)
    assert low == pytest.approx(0.8 - 1.96 * 0.04, abs=0.02) and high == pytest.approx(0.8 + 1.96 * 0.04, abs=0.02)
    assert interval(lambda chosen: float(hits[chosen].mean()), len(hits)) == (low, high)
    assert all(math.isnan(side) for side in interval(lambda chosen: math.nan, 3, 10))


@pytest.mark.slow
def test_labels_are_scored_as_scikit_learn_does() -> None:
    ours = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed (the extra tasks)")
    random = Random(3)
    for classes in (2, 5):
        right, said = ([random.randrange(classes) for _ in range(200)] for _ in range(2))
        said = [r if random.random() < 0.6 else s for r, s in zip(right, said, strict=True)]
        labelled = Labelled.of(right, said)
        assert accuracy(labelled) == pytest.approx(ours.accuracy_score(right, said))
        assert micro_f1(labelled) == pytest.approx(ours.f1_score(right, said, average="micro"))
        assert macro_f1(labelled) == pytest.approx(ours.f1_score(right, said, average="macro"))
        assert matthews(labelled) == pytest.approx(ours.matthews_corrcoef(right, said))


def test_spans_are_scored_as_seqeval_does() -> None:
    theirs = pytest.importorskip("seqeval.metrics", reason="seqeval is not installed")
    random = Random(5)
    tags = ["O", "B-x", "I-x", "B-y", "I-y"]
    right, said = ([[random.choice(tags) for _ in range(9)] for _ in range(60)] for _ in range(2))
    counts = [count_spans(*pair) for pair in zip(right, said, strict=True)]
    total = Spans(*map(sum, zip(*counts, strict=True)))
    assert total.f1 == pytest.approx(theirs.f1_score(right, said))
    assert total.precision == pytest.approx(theirs.precision_score(right, said))


@pytest.mark.slow
def test_correlations_are_those_of_scipy() -> None:
    theirs = pytest.importorskip("scipy.stats", reason="scipy is not installed (the extra tasks)")
    random = Random(4)
    first, second = ([random.randrange(9) for _ in range(50)] for _ in range(2))
    assert pearson(first, second) == pytest.approx(theirs.pearsonr(first, second).statistic)
    assert spearman(first, second) == pytest.approx(theirs.spearmanr(first, second).statistic)
