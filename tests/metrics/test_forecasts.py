"""MASE's unit and CRPS by hand, and CRPS computed in three ways."""

import math

import numpy as np
import pytest

from openwork.metrics.forecasts import block_interval, crps, naive_error


def test_naive_error_by_hand() -> None:
    assert naive_error([1, 3, 2, 6], 1) == pytest.approx((2 + 1 + 4) / 3)
    assert naive_error([1, 3, 2, 6], 2) == pytest.approx((1 + 3) / 2)
    assert math.isnan(naive_error([1, 3], 2))


def test_crps_by_hand() -> None:
    """Samples 1 and 4, truth 2: E|X - y| = (1 + 2) / 2; of the four pairs two differ, by 3, so E|X - X'| = 1.5."""
    assert crps(np.array([[4.0], [1.0]]), np.array([2.0])) == pytest.approx([1.5 - 0.75])


def test_crps_of_one_sample_is_the_absolute_error() -> None:
    assert crps(np.array([[3.0, -1.0]]), np.array([5.0, -1.0])).tolist() == [2.0, 0.0]


def test_crps_is_the_sum_over_all_pairs_and_an_integral() -> None:
    """Two ways, one answer: over all pairs, and as the integral of (F(x) - 1{x >= y})^2, which defines it."""
    random = np.random.default_rng(1)
    samples, truth = random.normal(size=(31, 4)), random.normal(size=4)
    found = crps(samples, truth)
    pairs = np.abs(samples[:, None] - samples[None]).mean(axis=(0, 1))
    assert found == pytest.approx(np.abs(samples - truth).mean(axis=0) - pairs / 2)
    for column, value in enumerate(found):
        ends = np.sort([*samples[:, column], truth[column]])
        middles = (ends[:-1] + ends[1:]) / 2  # both functions are constant between two ends
        below = (samples[:, column] <= middles[:, None]).mean(axis=1)
        integral = ((below - (middles >= truth[column])) ** 2 * np.diff(ends)).sum()
        assert value == pytest.approx(integral)


def test_crps_of_a_normal_distribution_is_its_closed_form() -> None:
    """Gneiting and Raftery 2007, equation 20, for truth = mean: 2 pdf(0) - 1 / sqrt(pi)."""
    samples = np.random.default_rng(2).normal(size=(200_000, 1))
    assert crps(samples, np.zeros(1))[0] == pytest.approx(math.sqrt(2 / math.pi) - 1 / math.sqrt(math.pi), abs=0.003)


def test_blocks_keep_neighbours_together() -> None:
    """Of a long wave, blocks vary more than single values do; with blocks of one it is the usual bootstrap."""
    wave = np.sin(np.arange(200) / 10)
    single, blocks = (block_interval(lambda values: float(values.mean()), wave, size, 300) for size in (1, 30))
    assert blocks[1] - blocks[0] > 1.5 * (single[1] - single[0])
    whole = block_interval(lambda values: float(values.mean()), wave, len(wave), 50)
    assert whole == pytest.approx((wave.mean(), wave.mean()))  # one block of all, wherever it begins
