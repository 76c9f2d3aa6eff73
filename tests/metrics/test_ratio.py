"""Sums and counts add exactly; the division comes last."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from openwork.base.errors import DataError
from openwork.metrics.ratio import Ratio, exact_match, perplexity


def test_a_mean_of_unequal_batches_by_hand() -> None:
    # 3 tokens with 6 nats and 1 token with 6 nats: 12 / 4, not the mean of 2 and 6.
    assert (Ratio(6.0, 3) + Ratio(6.0, 1)).value == 3.0


@given(some.lists(some.tuples(some.integers(0, 1000), some.integers(1, 50)), min_size=1))
def test_batches_join_in_any_order(parts: list[tuple[int, int]]) -> None:
    ratios = [Ratio(float(total), count) for total, count in parts]
    whole = Ratio(float(sum(total for total, _ in parts)), sum(count for _, count in parts))
    assert sum(ratios, Ratio()) == sum(reversed(ratios), Ratio()) == whole


def test_nothing_counted_is_not_a_number() -> None:
    assert math.isnan(Ratio().value)


def test_perplexity_of_a_uniform_guess_is_the_number_of_choices() -> None:
    assert perplexity(Ratio(7 * math.log(11), 7)) == pytest.approx(11)
    assert perplexity(Ratio(0.0, 5)) == 1.0
    assert perplexity(Ratio(1e6, 1)) == math.inf


def test_exact_match_by_hand() -> None:
    assert exact_match(["a", "b", " c", ""], ["a", "x", "c", ""]) == Ratio(2.0, 4)
    assert exact_match([], []) == Ratio(0.0, 0)


def test_exact_match_refuses_unequal_counts() -> None:
    with pytest.raises(DataError, match="1 outputs cannot be compared with 2 references"):
        exact_match(["a"], ["a", "b"])
