"""The bootstrap over seeds and sentences, held to the mixed model and to sacreBLEU."""

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.metrics.mixed_model import difference_on_sentences
from openwork.metrics.translation import bleu, chrf
from openwork.metrics.two_way_bootstrap import Draws, corpus_metric, mean_score, two_way_difference

REFERENCES = ["the boat left the harbour early", "two children play with a ball", "she reads the letter again"]
WORSE = ["a boat left the harbour", "two children play with ball", "she reads letter again"]


def as_statistics(scores: np.ndarray) -> np.ndarray:
    """Those of a metric that is a mean over sentences."""
    return np.stack([scores, np.ones_like(scores)], axis=-1)


def drawn(seed: int, shift: float, seeds: int = 4, sentences: int = 60) -> np.ndarray:
    random = np.random.default_rng(seed)
    easy = np.random.default_rng(1).normal(size=sentences)
    return shift + random.normal(size=(seeds, 1)) + 2 * easy + random.normal(size=(seeds, sentences))


def test_of_a_mean_it_is_the_mixed_model():
    """Two ways, one answer: but for chance, and (n - 1) / n, by which a bootstrap's variance is smaller."""
    one, other = drawn(2, 0.0), drawn(3, 0.7)
    found = two_way_difference(as_statistics(one), as_statistics(other), mean_score, Draws(4_000))
    model = difference_on_sentences(one, other)
    assert found.value == pytest.approx(model.value)
    assert found.error == pytest.approx(model.error, rel=0.02)
    assert found.freedom == pytest.approx(model.freedom, rel=0.05)


def test_all_seeds_and_sentences_alike_leave_no_error():
    alike = as_statistics(np.ones((2, 3)))
    found = two_way_difference(alike, 2 * alike, lambda sums: sums[..., 0], Draws(10))
    assert (found.value, found.error) == (3, 0)


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_the_score_of_the_sums_is_sacrebleus(name: str):
    metric = corpus_metric(name)
    expected = [(bleu if name == "bleu" else chrf)(lines, REFERENCES).value for lines in (WORSE, REFERENCES)]
    statistics = np.stack([metric.statistics(lines, REFERENCES) for lines in (WORSE, REFERENCES)])
    assert metric.score(statistics.sum(axis=1)) == pytest.approx(expected)
    seeds = np.stack([statistics[0], statistics[0]])
    found = two_way_difference(seeds, np.stack([statistics[1]] * 2), metric.score, Draws(20))
    assert found.value == pytest.approx(expected[1] - expected[0]) and found.error > 0


def test_the_same_seed_draws_the_same():
    one, other = as_statistics(drawn(2, 0.0)), as_statistics(drawn(3, 0.7))
    results = [two_way_difference(one, other, mean_score, Draws(50, seed)).error for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_what_cannot_be_compared_is_refused():
    one = as_statistics(drawn(2, 0.0))
    with pytest.raises(DataError, match=r"a method with 1 seed\(s\)"):
        two_way_difference(one[:1], one, mean_score)
    with pytest.raises(DataError, match="statistics of 60 sentences cannot be compared with those of 9"):
        two_way_difference(one, one[:, :9], mean_score)
