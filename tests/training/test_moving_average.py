"""The moving average of the weights: by hand, in checkpoints, resumed bit for bit, and frozen weights untouched."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from openwork.base.errors import BundleError
from openwork.data.store import TokenStore
from openwork.models.weights import model_weights
from openwork.training.averaging import MovingAverage
from openwork.training.checkpoint import (
    MOVING_AVERAGE,
    checkpoints,
    load_checkpoint,
    load_weights,
    resume_latest,
)
from openwork.training.observers.control import ValidationObserver
from openwork.training.observers.saving import CheckpointObserver
from openwork.training.progress import Progress
from training.tiny import SETTINGS, make_store, make_training, save_checkpoint, validation


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    weight = model.weight.detach()
    weight.fill_(8.0)
    average = MovingAverage(model, 0.75)
    found = []
    for step, value in ((1, 19.0), (2, 1.0), (98, 0.0)):
        weight.fill_(value)
        average.update(step)
        found.append(average.weights["weight"].item())
    # decays: (1 + 1) / (10 + 1) = 2/11, then 3/12 = 1/4, at last 99/108 is above 3/4
    # 2/11 * 8 + 9/11 * 19 = 17; 1/4 * 17 + 3/4 = 5; 3/4 * 5 = 3.75
    assert found == pytest.approx([17.0, 5.0, 3.75])
    assert weight.item() == 0.0  # the model goes its own way


def test_what_does_not_change_is_kept_bit_for_bit() -> None:
    model = nn.Linear(50, 50)
    before = {name: tensor.clone() for name, tensor in model_weights(model).items()}
    average = MovingAverage(model, 0.999)
    for step in range(1, 30):
        average.update(step)
    assert same(average.weights, before)


@pytest.mark.slow
def test_a_resumed_average_is_that_of_an_undisturbed_run(tmp_path: Path, store: TokenStore) -> None:
    whole = make_training(store)
    expected = MovingAverage(whole.model, 0.9)
    whole.go(SETTINGS, Progress(), [expected])
    assert not same(expected.weights, model_weights(whole.model))

    first, place = make_training(store), Progress()
    half = MovingAverage(first.model, 0.9)
    first.go(SETTINGS.model_copy(update={"steps": 5}), place, [half])
    path = save_checkpoint(tmp_path, first.model, first.optimiser, place, half)
    assert same(load_weights(path, MOVING_AVERAGE), half.weights)

    second = make_training(store)
    average = MovingAverage(second.model, 0.9)
    resumed = resume_latest(tmp_path, second.model, second.optimiser, average)
    assert resumed is not None
    second.go(SETTINGS, resumed.progress, [average])
    assert same(average.weights, expected.weights)


@pytest.mark.slow
def test_checkpoints_hold_the_average_up_to_their_update(tmp_path: Path, store: TokenStore) -> None:
    training = make_training(store)
    seen = {}

    class Noting(MovingAverage):
        def stepped(self, run, report) -> None:
            super().stepped(run, report)
            seen[report.step] = {name: tensor.clone() for name, tensor in self.weights.items()}

    average = Noting(training.model, 0.5)
    observers = [
        average,
        ValidationObserver(validation),
        CheckpointObserver(tmp_path, training.model, training.optimiser, average),
    ]
    training.go(SETTINGS.model_copy(update={"steps": 8}), Progress(), observers)
    for step, path in zip((4, 8), checkpoints(tmp_path), strict=True):
        assert same(load_weights(path, MOVING_AVERAGE), seen[step])


def test_an_average_that_is_gone_or_damaged_is_told(tmp_path: Path, store: TokenStore) -> None:
    training = make_training(store)
    average = MovingAverage(training.model, 0.5)
    without = save_checkpoint(tmp_path / "a", training.model, training.optimiser, Progress(step=1))
    with pytest.raises(BundleError, match="has lost its moving-average"):
        load_checkpoint(without, training.model, training.optimiser, average)
    with pytest.raises(BundleError, match="has lost its moving-average"):
        load_weights(without, MOVING_AVERAGE)
    path = save_checkpoint(tmp_path / "b", training.model, training.optimiser, Progress(step=1), average)
    file = path / "moving-average.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(BundleError, match=r"moving-average\.safetensors is damaged"):
        load_checkpoint(path, training.model, training.optimiser, average)
    load_checkpoint(path, training.model, training.optimiser)  # who does not need it is not stopped
