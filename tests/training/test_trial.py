"""Updates on trial leave nothing behind, with whatever optimiser."""

from typing import get_args

import pytest
import torch

from openwork.data.store import TokenStore
from openwork.models.weights import model_weights, tensors_to_bytes
from openwork.training.optimisers import optimiser_tensors
from openwork.training.progress import Progress
from openwork.training.settings import OptimiserName
from openwork.training.step import on_trial, timed_trial
from training.tiny import BATCH_NORMALISED, MODEL, RECURRENT, SETTINGS, Training, make_store, make_training

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def state(training: Training) -> tuple[bytes, bytes, list[float], bool]:
    """Everything that the next updates follow from."""
    optimiser = training.optimiser
    return (
        tensors_to_bytes(model_weights(training.model)),
        tensors_to_bytes(optimiser_tensors(training.model, optimiser)),
        torch.get_rng_state().tolist(),
        training.model.training,
    )


def try_updates(training: Training) -> None:
    with on_trial(training.model, training.optimiser):
        for batch in (0, 1, 2):
            assert timed_trial(training.updater, [training.stream.next(Progress(batch=batch))]) > 0


@pytest.mark.parametrize("optimiser", get_args(OptimiserName))
def test_nothing_is_left_of_them(optimiser: OptimiserName, store: TokenStore):
    settings = SETTINGS.model_copy(update={"optimiser": optimiser, "weight_decay": 0.1 * (optimiser == "adamw")})
    tried, plain = make_training(store, settings), make_training(store, settings)
    before = state(tried)
    try_updates(tried)
    assert state(tried) == before
    assert all(parameter.grad is None for parameter in tried.model.parameters())
    for training in (tried, plain):
        training.go(settings, Progress())
    assert state(tried)[:2] == state(plain)[:2]


@pytest.mark.parametrize("changes", [{"precision": "bfloat16"}, {"workers": 2}, {"accumulate": 2}], ids=str)
def test_in_every_way_of_computing(changes: dict[str, object], store: TokenStore):
    settings = SETTINGS.model_copy(update=changes)
    tried, plain = (make_training(store, settings, RECURRENT if "accumulate" in changes else MODEL) for _ in range(2))
    try_updates(tried)
    for training in (tried, plain):
        training.go(settings, Progress())
    assert state(tried)[:2] == state(plain)[:2]


@pytest.mark.parametrize("changes", [{}, {"precision": "bfloat16"}, {"r_drop": 2.0}], ids=str)
def test_batch_norms_forget_it(changes: dict[str, object], store: TokenStore):
    settings = SETTINGS.model_copy(update=changes)
    tried, plain = (make_training(store, settings, BATCH_NORMALISED) for _ in range(2))
    before = state(tried)
    try_updates(tried)
    assert state(tried) == before
    for training in (tried, plain):
        training.go(settings, Progress())
    assert state(tried)[:2] == state(plain)[:2]


def test_a_training_under_way_keeps_what_it_remembers(store: TokenStore):
    training = make_training(store)
    training.go(SETTINGS, Progress())
    before = state(training)
    try_updates(training)
    assert state(training) == before and before[1] != b""


def test_an_error_leaves_nothing_either(store: TokenStore):
    training = make_training(store)
    before = state(training)
    with pytest.raises(KeyError), on_trial(training.model, training.optimiser):
        timed_trial(training.updater, [training.stream.next(Progress())])
        raise KeyError
    assert state(training) == before


def test_the_optimiser_makes_its_moments_meanwhile(store: TokenStore):
    """Their memory is a part of what is tried, and their size is that of a checkpoint."""
    training = make_training(store)
    with on_trial(training.model, training.optimiser):
        timed_trial(training.updater, [training.stream.next(Progress())])
        numbers = sum(tensor.numel() for tensor in optimiser_tensors(training.model, training.optimiser).values())
    weights = list(training.model.parameters())
    assert numbers == sum(2 * weight.numel() + 1 for weight in weights)
    assert optimiser_tensors(training.model, training.optimiser) == {}
