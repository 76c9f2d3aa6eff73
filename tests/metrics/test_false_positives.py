"""Every test that a report uses, on 500 simulated experiments: without a difference, and with one that was planted.

The share of false positives must be 5 % within the bounds of the binomial distribution, the share of planted effects
that are found within those of the promised power. The bounds are missed by chance once in a thousand times, and the
generator's seed is fixed.
"""

import math
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from openwork.metrics.estimates import compare_all, contrast, difference_over_seeds, mean_over_seeds
from openwork.metrics.mixed_model import difference_on_sentences, take_apart
from openwork.metrics.power import Spread, power
from openwork.metrics.significance import Effort, compare_statistic
from openwork.metrics.two_way_bootstrap import (
    Draws,
    corpus_metric,
    mean_score,
    mean_statistics,
    resample,
    two_way_difference,
)

pytestmark = pytest.mark.slow

pytest.importorskip("scipy", reason="the extra experiments is not installed")

EXPERIMENTS = 500
SEEDS, SENTENCES = 3, 100
# Variances: between seeds, between sentences, of how much a sentence suits a method, of seed and sentence together.
MIXED, SEEDS_ALONE, TEXTS_ALONE = (0.02, 4.0, 0.2, 1.0), (1.0, 4.0, 0.0, 1.0), (0.0, 4.0, 1.0, 1.0)
WORLDS = pytest.mark.parametrize("world", [MIXED, SEEDS_ALONE, TEXTS_ALONE], ids=["mixed", "seeds", "texts"])

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def bounds(share: float, chance: float = 0.0005) -> tuple[int, int]:
    """How often something of this probability happens in all experiments, but for this chance on either side."""
    below, low = 0.0, None
    for count in range(EXPERIMENTS + 1):
        below += math.comb(EXPERIMENTS, count) * share**count * (1 - share) ** (EXPERIMENTS - count)
        low = count if low is None and below > chance else low
        if below >= 1 - chance:
            return low or 0, count
    raise AssertionError


def experiments(world: tuple[float, ...], effect: float = 0.0, sentences: int = SENTENCES) -> Iterator[Pair]:
    """Two methods' scores (seeds, sentences) on the same sentences; the second's mean is higher by the effect."""
    random = np.random.default_rng(26)
    between, easy, suits, both = map(math.sqrt, world)
    for _ in range(EXPERIMENTS):
        shared = easy * random.normal(size=sentences)
        first, second = (
            shared
            + between * random.normal(size=(SEEDS, 1))
            + suits * random.normal(size=sentences)
            + both * random.normal(size=(SEEDS, sentences))
            for _ in range(2)
        )
        yield first, second + effect


def found(pairs: Iterator[Pair], test: Callable[[NDArray[np.float64], NDArray[np.float64]], float]) -> int:
    """In how many experiments the test's p is below 5 %."""
    return sum(test(*pair) < 0.05 for pair in pairs)


def by_seeds(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return difference_over_seeds(first.mean(axis=1), second.mean(axis=1)).p


def by_model(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return difference_on_sentences(first, second).p


def by_bootstrap(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    one, other = (resample(mean_statistics(scores), mean_score, Draws(100)) for scores in (first, second))
    return two_way_difference(one, other).p


def by_pairs(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The paired tests of the first seeds' systems; both must find the difference."""
    scores = np.concatenate([first[0], second[0]])
    found = compare_statistic("x", lambda chosen: float(scores[chosen].mean()), SENTENCES, Effort(99, 99))
    return max(found.bootstrap, found.randomisation)


def within(count: int, share: float) -> bool:
    low, high = bounds(share)
    return low <= count <= high


def test_the_bounds():
    """Of 500 tests at 5 %, 25 are expected; a deviation is 4.87."""
    low, high = bounds(0.05)
    assert 25 - 4 * 4.87 < low < 25 - 2 * 4.87 and 25 + 3 * 4.87 < high < 25 + 4 * 4.87


@pytest.mark.parametrize("world", [MIXED, SEEDS_ALONE], ids=["mixed", "seeds"])
def test_over_seeds_on_given_texts(world: tuple[float, ...]):
    """Its null: the same expected score on these texts. So the texts suit both methods alike."""
    assert within(found(experiments((world[0], world[1], 0.0, world[3])), by_seeds), 0.05)


@WORLDS
def test_over_seeds_and_texts_by_the_mixed_model(world: tuple[float, ...]):
    assert within(found(experiments(world), by_model), 0.05)


@pytest.mark.slow
@WORLDS
def test_over_seeds_and_texts_by_the_bootstrap(world: tuple[float, ...]):
    assert within(found(experiments(world), by_bootstrap), 0.05)


def answers(effect: float = 0.0) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Right and wrong words (seeds, sentences, words) of two methods; sentences, seeds and both decide how many."""
    random = np.random.default_rng(26)
    for _ in range(EXPERIMENTS):
        easy = random.normal(size=(SENTENCES, 1))
        yield tuple(
            random.logistic(size=(SEEDS, SENTENCES, 12))
            < 1 + shift + easy + 0.2 * random.normal(size=(SEEDS, 1, 1)) + 0.4 * random.normal(size=(SENTENCES, 1))
            for shift in (0, effect)
        )  # type: ignore[misc]


def test_sentences_that_are_right_or_wrong():
    """Exact matches are far from normal: a score of 0 or 100 for each sentence, by its first word."""
    pairs = ((100.0 * one[..., 0], 100.0 * other[..., 0]) for one, other in answers())
    assert within(found(pairs, by_model), 0.05)


def bleu_statistics(right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What sacreBLEU counts of translations of 12 words, each of which is right or is no word: (..., 10)."""
    runs = [right]
    for order in (1, 2, 3):
        runs.append(runs[-1][..., :-1] & right[..., order:])
    lengths = np.full((*right.shape[:-1], 2), right.shape[-1])
    totals = np.full((*right.shape[:-1], 4), [right.shape[-1] - order for order in range(4)])
    return np.concatenate([lengths, np.stack([run.sum(axis=-1) for run in runs], axis=-1), totals], axis=-1).astype(
        float
    )


def test_the_statistics_of_bleu():
    """Two ways, one answer: words that are right are the reference's, the others are in no reference."""
    right = np.random.default_rng(1).random((5, 12)) < 0.7
    references = [" ".join(f"w{place}" for place in range(12))] * 5
    lines = [" ".join(f"w{place}" if one else "x" for place, one in enumerate(row)) for row in right]
    assert corpus_metric("bleu").statistics(lines, references).tolist() == bleu_statistics(right).tolist()


@pytest.mark.slow
def test_bleu_over_seeds_and_texts():
    """The score of the corpus itself, which is no mean over sentences."""
    score = corpus_metric("bleu").score

    def test(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
        return two_way_difference(*(resample(one, score, Draws(60)) for one in (first, second))).p

    assert within(found(((bleu_statistics(one), bleu_statistics(other)) for one, other in answers()), test), 0.05)


@pytest.mark.slow
def test_two_given_systems_on_texts_like_these():
    """Its null: two systems whose scores of a sentence could be exchanged."""
    assert within(found(experiments((0.0, 4.0, 0.0, 1.0)), by_pairs), 0.05)


@pytest.mark.slow
def test_a_test_over_texts_says_nothing_of_seeds():
    """Methods that are the same, of which one training each is compared: the paired tests "find" most differences."""
    assert found(islice(experiments(SEEDS_ALONE), 100), by_pairs) > 70


def test_the_interaction_of_four_cells():
    random = np.random.default_rng(26)
    weights = (1.0, -1.0, -1.0, 1.0)
    cells = [[(weight, random.normal(size=SEEDS)) for weight in weights] for _ in range(EXPERIMENTS)]
    assert within(sum(contrast(one).p < 0.05 for one in cells), 0.05)


def test_a_seed_that_chose_the_settings_makes_no_more_false_positives():
    """The first seed of one method is the luckiest of eight trainings. Its mean is flattered, by half a deviation
    between seeds, but the spread grows with it.
    """
    random = np.random.default_rng(26)
    means, p_values = [], []
    for _ in range(EXPERIMENTS):
        tuned = [random.normal(size=8).max(), *random.normal(size=SEEDS - 1)]
        estimate = difference_over_seeds(random.normal(size=SEEDS), tuned)
        means.append(estimate.value)
        p_values.append(estimate.p)
    assert sum(p < 0.05 for p in p_values) <= bounds(0.05)[1]
    assert 0.3 < np.mean(means) < 0.65, "1.42 / 3 = 0.47"


def test_a_family_of_comparisons_has_one_false_positive_in_twenty_experiments_at_most():
    """Four methods, six comparisons; uncorrected, far more experiments would have one."""
    random = np.random.default_rng(26)
    families = [compare_all({name: random.normal(size=5) for name in "abcd"}) for _ in range(EXPERIMENTS)]
    assert sum(any(one.is_shown for one in family) for family in families) <= bounds(0.05)[1]
    assert sum(any(one.estimate.p < 0.05 for one in family) for family in families) > 1.5 * bounds(0.05)[1]


def test_an_interval_holds_the_mean():
    random = np.random.default_rng(26)
    means = [mean_over_seeds(random.normal(size=SEEDS)) for _ in range(EXPERIMENTS)]
    assert within(sum(not one.low <= 0 <= one.high for one in means), 0.05)


@WORLDS
def test_the_intervals_of_the_variances_hold_them(world: tuple[float, ...]):
    """Bounds at 0 can only make them wider."""
    between, easy, suits, both = world
    parts = [take_apart(first).components for first, _ in experiments(world)]
    expected = {"seeds": between, "sentences": easy + suits, "interaction": both}
    for name, variance in expected.items():
        missed = sum(not getattr(one, name).low <= variance <= getattr(one, name).high for one in parts)
        assert missed <= bounds(0.05)[1], name
        assert missed >= bounds(0.05)[0] or variance == 0, name


@pytest.mark.slow
@WORLDS
def test_a_planted_effect_is_found_with_the_promised_power(world: tuple[float, ...]):
    between, _, suits, both = world
    spread = Spread(math.sqrt(between), math.sqrt(2 * suits), math.sqrt(both))
    for effect in (0.5, 1.0) if world is not SEEDS_ALONE else (2.0, 3.5):
        promised = power(effect, spread, SEEDS, SENTENCES)
        assert 0.2 < promised < 1
        for test in (by_model, by_bootstrap):
            assert within(found(experiments(world, effect), test), promised)


def test_a_planted_effect_on_given_texts():
    random = np.random.default_rng(26)
    pairs = [random.normal(size=(2, 5)) for _ in range(EXPERIMENTS)]
    promised = power(2.5, Spread(1.0, 0.0), 5, 100, new_texts=False)
    assert within(sum(difference_over_seeds(one, other + 2.5).p < 0.05 for one, other in pairs), promised)
