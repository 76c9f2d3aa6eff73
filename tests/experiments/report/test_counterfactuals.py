"""What would have changed the conclusion, counted by hand."""

from pathlib import Path

import pytest

from experiments.simulated import arms, experiment, trial
from openwork.experiments.report.counterfactuals import (
    lost_by_correction,
    of_failures,
    of_other_texts,
    of_two_systems,
    of_validation,
    share_that_wins,
    single_seeds,
    without_choosing_seed,
)
from openwork.experiments.report.findings import rank, ranking
from openwork.experiments.report.results import read_results
from openwork.metrics.distributions import t_quantile
from openwork.metrics.estimates import Estimate, MethodDifference
from openwork.metrics.significance import Difference, ScoreInterval

pytest.importorskip("scipy", reason="the extra experiments is not installed")

SCORES = {"a": [1.0, 4.0, 6.0], "b": [2.0, 3.0, 5.0]}


def compared(first: str, second: str, p: float, adjusted: float) -> MethodDifference:
    return MethodDifference(first, second, Estimate(t_quantile(1 - p / 2, 10), 1.0, 10), adjusted)


def paired(p: float) -> Difference:
    score = ScoreInterval(1.0, 0.0, 2.0)
    return Difference("bleu", score, score, p, p, "")


def test_how_often_the_best_wins_with_one_seed():
    """a wins with 1 never, with 4 in two of three, with 6 always: (0 + 2/3 + 1) / 3. Of two such others, 4/9 for 4."""
    assert share_that_wins("a", SCORES, 1) == pytest.approx(5 / 9)
    assert share_that_wins("a", {**SCORES, "c": SCORES["b"]}, 1) == pytest.approx((0 + 4 / 9 + 1) / 3)


def test_what_one_seed_would_have_found():
    found = rank(SCORES, 1)
    assert found is not None
    assert list(single_seeds(found, 1)) == [
        "With the first seed alone the order would have been: b > a; by the means: a > b.",
        "With one seed drawn for each, a would have come out first in 56 % of the cases.",
    ]
    clear = rank({"a": [3.0, 4.0], "b": [1.0, 2.0]}, 1)
    assert clear is not None
    assert list(single_seeds(clear, 1)) == [
        "With the first seed alone the order of the means would have been the same.",
        "With one seed drawn for each, a would have come out first in 100 % of the cases.",
    ]


def test_what_the_correction_takes_away():
    family = [compared("a", "b", 0.04, 0.12), compared("a", "c", 0.01, 0.03), compared("b", "c", 0.3, 0.3)]
    assert list(lost_by_correction(family)) == [
        "Without the correction for 3 comparisons, 1 more would have counted as differences: a / b."
    ]
    assert list(lost_by_correction(family[1:])) == []


def test_what_other_texts_take_away():
    """a / c was not tested on other texts, so nothing is said of it."""
    these = [compared("a", "b", 0.01, 0.01), compared("a", "c", 0.01, 0.01), compared("b", "d", 0.01, 0.01)]
    new = [compared("b", "a", 0.2, 0.2), compared("b", "d", 0.01, 0.01)]
    assert list(of_other_texts(these, new)) == ["Shown on these texts, but not for other texts like these: a / b."]
    assert list(of_other_texts(these[2:], new)) == []


def test_where_a_test_over_texts_contradicts_the_seeds():
    hidden, shown = compared("a", "b", 0.5, 0.5), compared("a", "b", 0.01, 0.01)
    (sentence,) = of_two_systems("b", "a", paired(0.01), [hidden])
    assert sentence.startswith("A test over texts alone, of one training of each, would have called b and a different;")
    (sentence,) = of_two_systems("b", "a", paired(0.4), [shown])
    assert "would not have found the difference of b and a that the seeds show" in sentence
    for p, one in ((0.01, shown), (0.4, hidden)):
        assert list(of_two_systems("a", "b", paired(p), [one])) == []
    assert list(of_two_systems("a", "c", paired(0.01), [hidden])) == []


def test_where_validation_names_another_best():
    one, other = rank(SCORES, 1), rank(SCORES, -1)
    assert list(of_validation(one, other)) == ["By the validation figures a is the best, on the test set b."]
    assert list(of_validation(one, one)) == list(of_validation(one, None)) == []


def test_failures_flatter_the_arm_that_has_them(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [1.0, 2.0], "b": [1.0, 2.0]})
    trial(folder, 5, "b", 3, None, state="failed")
    assert list(of_failures(read_results(folder))) == [
        "Of b 1 of 3 trials do not count: its mean is that of the others, which flatters it."
    ]


def test_without_the_seed_that_chose(tmp_path: Path):
    """b leads by its first seed alone, which the search has chosen it by."""
    for kind, scores, expected in (
        ("search", {"a": [2.0, 3.0], "b": [9.0, 2.0]}, ["the order would have been: a > b."]),
        ("search", {"a": [2.0, 3.0], "b": [9.0, 4.0]}, ["the order of the means would have been the same."]),
        ("factors", {"a": [2.0, 3.0], "b": [9.0, 2.0]}, []),
    ):
        results = read_results(arms(experiment(tmp_path / f"{kind}{scores['b'][1]}", kind), scores))
        found = ranking(results, tested=False)
        assert found is not None
        said = [*without_choosing_seed(results, found, tested=False)]
        assert said == [f"Without seed 1, which chose the settings, {one}" for one in expected]
