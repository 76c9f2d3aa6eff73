"""The bootstrap over seeds and sentences, held to the mixed model and to sacreBLEU."""

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.metrics.mixed_model import difference_on_sentences
from openwork.metrics.power import Spread
from openwork.metrics.translation import bleu, chrf
from openwork.metrics.two_way_bootstrap import (
    Draws,
    Resampled,
    corpus_metric,
    mean_score,
    mean_statistics,
    measured_spread,
    resample,
    two_way_difference,
)

pytest.importorskip("scipy", reason="the extra experiments is not installed")

REFERENCES = ["the boat left the harbour early", "two children play with a ball", "she reads the letter again"]
WORSE = ["a boat left the harbour", "two children play with ball", "she reads letter again"]


def drawn(seed: int, shift: float, seeds: int = 4, sentences: int = 60) -> np.ndarray:
    random = np.random.default_rng(seed)
    easy = np.random.default_rng(1).normal(size=sentences)
    return shift + random.normal(size=(seeds, 1)) + 2 * easy + random.normal(size=(seeds, sentences))


def resampled(scores: np.ndarray, resamples: int = 50, seed: int = 1) -> Resampled:
    return resample(mean_statistics(scores), mean_score, Draws(resamples, seed))


def test_of_a_mean_it_is_the_mixed_model():
    """Two ways, one answer: but for chance, and (n - 1) / n, by which a bootstrap's variance is smaller."""
    one, other = drawn(2, 0.0), drawn(3, 0.7)
    found = two_way_difference(resampled(one, 4_000), resampled(other, 4_000))
    model = difference_on_sentences(one, other)
    assert found.value == pytest.approx(model.value)
    assert found.error == pytest.approx(model.error, rel=0.02)
    assert found.freedom == pytest.approx(model.freedom, rel=0.05)


def test_the_spread_that_was_planted_is_measured():
    """Deviations of 1 between seeds and within cells, and of 2 sqrt(2) of how much a sentence suits a method."""
    random = np.random.default_rng(7)
    tables = [
        random.normal(size=(60, 1)) + 2 * random.normal(size=400) + random.normal(size=(60, 400)) for _ in range(2)
    ]
    found = measured_spread(*(resampled(table, 2_000) for table in tables))
    assert found.seeds == pytest.approx(1, rel=0.15)
    assert found.sentences == pytest.approx(2 * np.sqrt(2), rel=0.1)
    assert found.both == pytest.approx(1, rel=0.05)
    assert isinstance(found, Spread)


def test_all_seeds_and_sentences_alike_leave_no_error():
    one, other = resampled(np.ones((2, 3))), resampled(np.full((2, 3), 4.0))
    found = two_way_difference(one, other)
    assert (found.value, found.error) == (3, 0)


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_the_score_of_the_sums_is_sacrebleus(name: str):
    metric = corpus_metric(name)
    expected = [(bleu if name == "bleu" else chrf)(lines, REFERENCES).value for lines in (WORSE, REFERENCES)]
    worse, right = (metric.statistics(lines, REFERENCES) for lines in (WORSE, REFERENCES))
    assert metric.score(np.stack([worse, right]).sum(axis=1)) == pytest.approx(expected)
    one, other = (resample(np.stack([table, table]), metric.score, Draws(20)) for table in (worse, right))
    assert one.drawn.shape == (20, 2)
    found = two_way_difference(one, other)
    assert found.value == pytest.approx(expected[1] - expected[0]) and found.error > 0


def test_blocks_of_resamples_are_the_resamples(monkeypatch: pytest.MonkeyPatch):
    whole = resampled(drawn(2, 0.0))
    monkeypatch.setattr("openwork.metrics.two_way_bootstrap._BLOCK", 7 * 60)
    assert np.allclose(resampled(drawn(2, 0.0)).drawn, whole.drawn)


def test_the_same_seed_draws_the_same():
    one, same, other = (resampled(drawn(2, 0.0), seed=seed).drawn for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(DataError, match=r"a method with 1 seed\(s\)"):
        resampled(drawn(2, 0.0)[:1])
    with pytest.raises(DataError, match="resamples of 60 sentences cannot be compared with those of 9"):
        two_way_difference(resampled(drawn(2, 0.0)), resampled(drawn(2, 0.0)[:, :9]))
