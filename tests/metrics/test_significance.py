"""The two tests of a difference, held against all resamples and all exchanges of a small test set."""

from itertools import product

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.metrics.significance import Effort, Statistic, compare, compare_statistic, interval
from openwork.metrics.translation import bleu_metric

REFERENCES = [
    "the small boat left the harbour early in the morning",
    "a man in a red coat waits for the last train home",
    "two children play with a ball near the old church",
    "she reads the letter again and puts it on the table",
    "the road to the village was closed after the storm",
    "he bought bread , cheese and a bottle of cold milk",
]
FIRST = [line if place % 2 else f"well {line[:25]} or so" for place, line in enumerate(REFERENCES)]
SECOND = [line if place % 3 else f"then {line[:30]}" for place, line in enumerate(REFERENCES)]
QUICK = Effort(resamples=50, trials=50)


def statistics(lines: list[str]) -> np.ndarray:
    return np.array(bleu_metric("13a")._extract_corpus_statistics(lines, [REFERENCES]))


def score(total: np.ndarray) -> float:
    return bleu_metric("13a")._compute_score_from_stats(list(total)).score


@pytest.mark.slow
def test_randomisation_is_the_share_of_exchanges_with_a_larger_difference():
    one, other = statistics(FIRST), statistics(SECOND)
    observed = abs(score(one.sum(0)) - score(other.sum(0)))
    larger = 0
    for mask in product((False, True), repeat=len(REFERENCES)):
        kept = np.array(mask)[:, None]
        swapped = abs(score(np.where(kept, one, other).sum(0)) - score(np.where(kept, other, one).sum(0)))
        larger += swapped > observed + 1e-9
    exact = larger / 2 ** len(REFERENCES)
    found = compare(FIRST, SECOND, REFERENCES, effort=Effort(resamples=2, trials=2000))[0]
    assert 0.05 < exact < 0.95
    assert found.randomisation == pytest.approx(exact, abs=0.05)


@pytest.mark.slow
def test_bootstrap_is_the_share_of_resamples_that_stray_further_than_the_difference():
    """On four sentences all 256 resamples can be made. sacreBLEU centres the absolute differences by their mean."""
    one, other = statistics(FIRST)[:4], statistics(SECOND)[:4]
    observed = abs(score(one.sum(0)) - score(other.sum(0)))
    rows = [list(chosen) for chosen in product(range(4), repeat=4)]
    strays = np.array([abs(score(one[row].sum(0)) - score(other[row].sum(0))) for row in rows])
    exact = float(np.mean(strays - strays.mean() > observed))
    found = compare(FIRST[:4], SECOND[:4], REFERENCES[:4], effort=Effort(resamples=2000, trials=2))[0]
    assert found.bootstrap == pytest.approx(exact, abs=0.05)
    assert 0.05 < exact < 0.95


@pytest.mark.slow
def test_a_clear_difference_is_significant_and_its_direction_is_told():
    references = [f"{line} number {place}" for place in range(5) for line in REFERENCES]
    worse = [" ".join(line.split()[::2]) for line in references]
    for found in compare(worse, references, references, effort=Effort(resamples=100, trials=100)):
        assert found.significant and found.value > 50
        assert found.first.low <= found.first.value <= found.first.high < found.second.low
    for found in compare(references, worse, references, effort=Effort(resamples=100, trials=100)):
        assert found.significant and found.value < -50


def test_equal_systems_do_not_differ():
    """sacreBLEU alone would call them different with the smallest p there is."""
    for found in compare(FIRST, list(FIRST), REFERENCES, effort=QUICK):
        assert (found.value, found.bootstrap, found.randomisation, found.significant) == (0.0, 1.0, 1.0, False)


def test_the_same_seed_draws_the_same():
    assert compare(FIRST, SECOND, REFERENCES, effort=QUICK) == compare(FIRST, SECOND, REFERENCES, effort=QUICK)
    other = compare(FIRST, SECOND, REFERENCES, effort=Effort(50, 50, seed=2))
    assert other[0].first.low != compare(FIRST, SECOND, REFERENCES, effort=QUICK)[0].first.low


def test_metrics_language_and_signature():
    found = compare(["我爱上海。"], ["我爱北京。"], ["我爱北京。"], effort=QUICK)
    assert [one.metric for one in found] == ["BLEU", "chrF2"]
    assert "tok:zh" in found[0].signature and "bs:50|seed:12345" in found[0].signature
    assert found[0].signature.endswith("|ar:50")
    assert "tok:13a" in compare(["x"], ["y"], ["y"], language="en", effort=QUICK)[0].signature


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(DataError, match="1 outputs cannot be compared with 6 references"):
        compare(["a"], SECOND, REFERENCES)
    with pytest.raises(DataError, match="nothing to score"):
        compare([], [], [])
    with pytest.raises(DataError, match="do not fit into memory"):
        compare(["a"] * 1000, ["b"] * 1000, ["c"] * 1000, effort=Effort(resamples=10**6))


def right(said: str) -> Statistic:
    """Accuracy of answers that are right (1) or wrong (0), the first system's and behind them the second's."""
    values = np.array([float(one) for one in said])
    return lambda chosen: float(values[chosen].mean())


@pytest.mark.slow
def test_any_score_of_two_examples_by_hand():
    """A has none right, B the first: a difference of 1/2, and one example whose answers differ."""
    found = compare_statistic("accuracy", right("00" + "10"), 2, Effort(resamples=4000, trials=4000))
    assert (found.first.value, found.second.value, found.value) == (0, 50, 50)
    assert (found.second.low, found.second.high) == (0, 100)
    # of resamples 1/4 have a difference of 0 and 1/4 of 1: as far from 1/2 as 1/2 is from none
    assert found.bootstrap == pytest.approx(0.5, abs=0.03)
    assert found.randomisation == 1.0  # exchanged or not, it stays a difference of 1/2
    assert not found.significant and found.signature == "n:2|bs:4000|seed:12345|ar:4000"


@pytest.mark.slow
def test_any_score_is_tested_as_all_exchanges_and_resamples_have_it():
    said = "0010110" + "1011111"
    statistic, own = right(said), np.arange(7)
    observed = statistic(own + 7) - statistic(own)
    swaps = [
        statistic(own + 7 - 7 * np.array(one)) - statistic(own + 7 * np.array(one)) for one in product((0, 1), repeat=7)
    ]
    share = float(np.mean(np.abs(swaps) >= observed - 1e-9))
    found = compare_statistic("accuracy", statistic, 7, Effort(resamples=4000, trials=8000))
    assert found.value == pytest.approx(100 * observed)
    assert found.randomisation == pytest.approx(share, abs=0.02) and 0.2 < share < 0.3
    back = compare_statistic("accuracy", right(said[7:] + said[:7]), 7, Effort(resamples=4000, trials=8000))
    assert (back.bootstrap, back.randomisation, back.value) == (found.bootstrap, found.randomisation, -found.value)
    low, high = interval(statistic, 7, 4000)  # what `evaluate` says of the first alone
    assert (found.first.low, found.first.high) == (100 * low, 100 * high)


def test_a_score_without_a_difference_and_one_that_is_always_better():
    same = compare_statistic("accuracy", right("0101" * 2), 4, QUICK)
    assert same.value == 0 and same.bootstrap == same.randomisation == 1
    clear = compare_statistic("accuracy", right("0" * 20 + "1" * 20), 20, QUICK)
    assert clear.value == 100 and clear.bootstrap == clear.randomisation == 1 / 51 and clear.significant


def test_draws_without_a_score_are_left_out():
    values = np.array([0.0, 1.0, 1.0, 1.0])

    def alike(chosen: np.ndarray) -> float:  # as a correlation of one number throughout
        return float("nan") if len(set(values[chosen])) == 1 else float(values[chosen].mean())

    found = compare_statistic("score", lambda chosen: alike(chosen % 4), 4, QUICK)
    assert found.bootstrap == found.randomisation == 1 and found.first.low < found.first.high
