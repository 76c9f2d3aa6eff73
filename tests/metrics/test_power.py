"""How many seeds and sentences are needed, held to plain normal theory and to the test itself."""

import math

import pytest

from openwork.base.errors import UsageError
from openwork.metrics.power import Spread, power, seeds_needed, sentences_needed

pytest.importorskip("scipy", reason="the extra experiments is not installed")

SPREAD = Spread(seeds=0.4, sentences=11.0)


def test_with_many_seeds_and_sentences_it_is_the_normal_power():
    """The error is 1 where 2 s^2 / k = t^2 / n = 0.5; a difference of 1.96 + 0.8416 errors is found in 80 %."""
    many = Spread(math.sqrt(0.25 * 10_000), math.sqrt(0.5 * 10_000))
    assert power(2.8016, many, 10_000, 10_000) == pytest.approx(0.8, abs=0.002)
    assert power(0.0, many, 10_000, 10_000) == pytest.approx(0.05, abs=0.002)
    assert power(-2.8016, many, 10_000, 10_000) == power(2.8016, many, 10_000, 10_000)


def test_more_of_anything_helps():
    by_seeds = [power(1.0, SPREAD, seeds, 3_000) for seeds in (3, 5, 10)]
    by_sentences = [power(1.0, SPREAD, 5, sentences) for sentences in (500, 1_000, 3_000)]
    assert by_seeds == sorted(by_seeds) and by_sentences == sorted(by_sentences)


def test_the_fewest_seeds():
    needed = seeds_needed(1.0, SPREAD, 3_000)
    assert needed is not None and needed > 3
    assert power(1.0, SPREAD, needed, 3_000) >= 0.8 > power(1.0, SPREAD, needed - 1, 3_000)
    assert seeds_needed(20.0, SPREAD, 3_000) == 3


def test_too_few_sentences_no_seeds_can_replace():
    """(11 * (1.96 + 0.8416) / 0.5)^2 = 3,799 sentences; with fewer, even seeds without any spread are not enough."""
    assert sentences_needed(0.5, SPREAD) == 3799
    assert seeds_needed(0.5, SPREAD, 3_000) is None
    assert seeds_needed(0.5, SPREAD, 6_000) is not None
    assert seeds_needed(0.5, SPREAD, 3_000, new_texts=False) is not None


def test_no_spread_between_seeds_is_found_at_once():
    assert power(0.1, Spread(0, 5), 3, 100, new_texts=False) == 1


def test_what_sentences_and_seeds_share_counts_for_both():
    """Of these texts the deviation between seeds is sqrt(s^2 + b^2 / n): 0.5 from 0.3 and 4 over sqrt(100)."""
    shared, plain = Spread(0.3, 0.0, 4.0), Spread(0.5, 0.0)
    assert power(1.0, shared, 4, 100, new_texts=False) == power(1.0, plain, 4, 100, new_texts=False)
    assert power(1.0, shared, 4, 10_000) > power(1.0, plain, 4, 10_000)


@pytest.mark.parametrize("wrong", [(-1.0, 5.0), (0.0, 0.0), (math.nan, 1.0), (1.0, math.inf)])
def test_a_spread_that_is_none_is_refused(wrong: tuple[float, float]):
    with pytest.raises(UsageError, match="standard deviations of"):
        Spread(*wrong)
