"""Training text that is cut at random: several versions in the store, one after another, and epochs that take turns."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from journeys.command import Finished
from openwork.base.errors import ConfigError
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.pairs import PairSource, Sampling, store_pairs
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings

PAIRS = [Pair(f"the cat number {n} is sleeping", f"die Katze Nummer {n} schläft gerade") for n in range(40)]
SOURCE = PairSource(lambda: iter(PAIRS), "forty cats", "cats")


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    return train_pair([p.source for p in PAIRS] * 3, [p.target for p in PAIRS] * 3, TextSettings(vocabulary_size=400))


def texts(store: TokenStore, tokenizers: TokenizerPair) -> list[tuple[str, str]]:
    pairs = (store.pair(row) for row in range(len(store)))
    return [(tokenizers.source.decode(source), tokenizers.target.decode(target)) for source, target in pairs]


def test_every_version_is_the_same_text_cut_in_another_way(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    plain = store_pairs(tmp_path / "plain", SOURCE, tokenizers)
    store = store_pairs(tmp_path / "sampled", SOURCE, tokenizers, sampling=Sampling(0.3, 3, 5))
    assert texts(store, tokenizers) == texts(plain, tokenizers) * 3
    versions = [[store.pair(row)[0].tolist() for row in range(first, first + len(PAIRS))] for first in (0, 40, 80)]
    assert versions[0] != versions[1] != versions[2] != versions[0]
    assert store.source.lengths.sum() > 3 * plain.source.lengths.sum()
    again = store_pairs(tmp_path / "again", SOURCE, tokenizers, sampling=Sampling(0.3, 3, 5))
    assert again.source.tokens.tolist() == store.source.tokens.tolist()
    other = store_pairs(tmp_path / "other", SOURCE, tokenizers, sampling=Sampling(0.3, 3, 6))
    assert other.source.tokens.tolist() != store.source.tokens.tolist()


def test_a_store_of_other_sampling_is_made_anew(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    first = store_pairs(tmp_path / "s", SOURCE, tokenizers, sampling=Sampling(0.3, 2, 5))
    for sampling in (Sampling(0.2, 2, 5), Sampling(0.3, 3, 5), None):
        assert store_pairs(tmp_path / "s", SOURCE, tokenizers, sampling=sampling).fingerprint != first.fingerprint
    with pytest.raises(ConfigError, match="not the pairs that this run started with"):
        store_pairs(tmp_path / "s", SOURCE, tokenizers, sampling=Sampling(0.3, 2, 5), started=True)


def test_epochs_take_turns(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    store = store_pairs(tmp_path / "s", SOURCE, tokenizers, sampling=Sampling(0.3, 3, 5))
    plan = BatchPlan.of(store, BatchSettings(tokens=100), 1, versions=3)
    for epoch in range(7):
        rows = np.concatenate(list(plan.epoch(epoch)))
        version = epoch % 3
        assert sorted(rows.tolist()) == list(range(version * 40, version * 40 + 40))
    for batch in plan.epoch(1):
        longest = max(store.source.lengths[batch].max(), store.target.lengths[batch].max()) + 1
        assert len(batch) == 1 or longest * len(batch) <= 100


@pytest.mark.slow
def test_a_run_stores_its_versions_and_validates_on_text_that_is_not_cut_at_random(
    call: Callable[..., Finished], tmp_path: Path
) -> None:
    settings = [
        "model.preset=nano", "model.width=16", "model.feedforward_width=24",
        "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
        "training.steps=3", "training.validate_every=3", "training.validation_sentences=2",
        "training.warmup=1", "training.cooldown=0", "training.metric=loss",
        "training.precision=float32", "text.vocabulary_size=400", "text.sampling=0.2",
        "text.samplings=3", "data.count=30", "decoding.maximum_length=5",
        "decoding.beam=1",
    ]  # fmt: skip
    sets = [word for value in settings for word in ("--set", value)]
    done = call("train", "--corpus", "copy", "--out", tmp_path / "run", *sets)
    assert done.code == 0, done.err
    assert len(TokenStore.open(tmp_path / "run" / "stores" / "train")) == 90
    tokenizers = TokenizerPair.load(tmp_path / "run" / "bundle")
    valid = TokenStore.open(tmp_path / "run" / "stores" / "valid")
    for row in range(5):
        ids = valid.pair(row)[0].tolist()
        assert ids == tokenizers.source.encode(tokenizers.source.decode(ids))
