"""What is drawn at random while training: anew in each update, part, pass, row and epoch, and the same for the same."""

import numpy as np
import pytest
from numpy.typing import NDArray

from openwork.data.batching import Batch, assemble
from openwork.data.store import TokenStore
from openwork.training.batches.batch import to_tensors
from openwork.training.batches.language_modelling import Masking
from training.tiny import CPU, MODEL, SETTINGS, VOCABULARY, Training, make_store, make_training


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def training(store: TokenStore, dropout: float = 0.5, **changes: object) -> Training:
    settings = SETTINGS.model_copy(update={"label_smoothing": 0.0, "optimiser": "sgd", **changes})
    return make_training(store, settings, MODEL.model_copy(update={"dropout": dropout}))


def loss(store: TokenStore, made: Training, step: int, rows: list[int]) -> float:
    """The loss of these pairs in an update of this number, which changes nothing: its rate is 0."""
    batch = to_tensors(assemble(store, np.array(rows), 0), CPU)
    return made.updater.update([batch], step, rate_scale=0.0).loss


def test_each_update_drops_other_numbers_and_the_same_update_the_same(store: TokenStore) -> None:
    made = training(store)
    found = [loss(store, made, step, [0, 1, 2]) for step in (1, 2, 3, 1)]
    assert len(set(found[:3])) == 3 and found[3] == found[0]
    assert loss(store, training(store), 2, [0, 1, 2]) == found[1]
    # the weights are those of seed 1 in both: only what is dropped differs
    other = training(store)
    other.updater.settings = other.updater.settings.model_copy(update={"seed": 2})
    assert loss(store, other, 1, [0, 1, 2]) != found[0]


def test_without_dropout_updates_are_alike(store: TokenStore) -> None:
    made = training(store, dropout=0.0)
    assert loss(store, made, 1, [0, 1]) == loss(store, made, 2, [0, 1])


def test_parts_of_an_update_drop_other_numbers(store: TokenStore) -> None:
    """The same sentence twice, each by a worker: if both dropped the same, the mean would be that of one."""
    alone = loss(store, training(store), 1, [5])
    assert loss(store, training(store, workers=2), 1, [5, 5]) != pytest.approx(alone, rel=1e-6)
    dry = training(store, dropout=0.0, workers=2)
    assert loss(store, dry, 1, [5, 5]) == pytest.approx(loss(store, training(store, dropout=0.0), 1, [5]), rel=1e-6)


def test_the_two_passes_of_r_drop_drop_other_numbers(store: TokenStore) -> None:
    """What is added to the likelihood is their disagreement: nothing, if both dropped the same."""
    for dropout, expected in ((0.5, True), (0.0, False)):
        batch = to_tensors(assemble(store, np.array([0, 1, 2]), 0), CPU)
        report = training(store, dropout, r_drop=4.0).updater.update([batch], 1, rate_scale=0.0)
        assert (report.loss - report.likelihood > 1e-3) is expected


def masked(seed: int, epoch: int, rows: list[int]) -> NDArray[np.int64]:
    """The sources of one sentence at these rows of a store, masked."""
    sentence = [*range(4, 12), *range(4, 12), *range(4, 12), 3]
    source = np.array([sentence] * len(rows))
    lengths = np.full(len(rows), len(sentence))
    batch = Batch(np.array(rows), source, lengths, source, source, lengths, epoch)
    masking = Masking(1, np.ones(VOCABULARY, dtype=np.bool_), 0.4, False, seed)
    return masking(batch, CPU).source.numpy()


def test_masks_differ_by_row_epoch_and_seed() -> None:
    first, second = masked(1, 0, [0, 1])
    assert not np.array_equal(first, second)
    assert np.array_equal(masked(1, 0, [1])[0], second)  # whatever stands beside it
    assert not np.array_equal(masked(1, 1, [0])[0], first)
    assert not np.array_equal(masked(2, 0, [0])[0], first)
