"""Zeros that stay: the start vector of a model that has none, and the weights that were pruned, in every training."""

from typing import get_args

import pytest
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.data.store import TokenStore
from openwork.models.build import build_model
from openwork.models.seq2seq import Transformer
from openwork.models.weights import model_weights
from openwork.training.kept_zeros import KeptZeros
from openwork.training.progress import Progress
from openwork.training.settings import OptimiserName
from training.tiny import MODEL, SETTINGS, VOCABULARY, make_store, make_training

ZEROS = MODEL.model_copy(update={"start_vector": "zeros"})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def test_the_decoder_begins_with_nothing_but_its_position() -> None:
    torch.manual_seed(1)
    model = build_model(ZEROS, VOCABULARY, VOCABULARY)
    assert isinstance(model, Transformer)
    start = torch.tensor([[SYMBOL_IDS.start]])
    first = model.target_positions(model.target_embedding(start))
    assert torch.equal(first[0], model.target_positions(torch.zeros(1, 1, MODEL.width))[0])
    torch.manual_seed(1)
    other = model_weights(build_model(MODEL, VOCABULARY, VOCABULARY))
    differing = [name for name, weight in model_weights(model).items() if not torch.equal(weight, other[name])]
    assert differing == ["output"]  # which is the table too, where they are tied


@pytest.mark.parametrize("tying", ["three-way", "target", "none"])
@pytest.mark.parametrize("optimiser", get_args(OptimiserName))
def test_the_start_stays_zeros(optimiser: OptimiserName, tying: str, store: TokenStore) -> None:
    settings = SETTINGS.model_copy(update={"optimiser": optimiser, "weight_decay": 0.1})
    training = make_training(store, settings, ZEROS.model_copy(update={"tying": tying}))
    assert isinstance(training.model, Transformer)
    table = training.model.target_embedding.table.weight
    before = table.detach().clone()
    training.go(settings, Progress())
    assert not table[SYMBOL_IDS.start].any()
    assert (table[4:] != before[4:]).any(dim=1).all()  # all others have moved


@pytest.mark.parametrize("changes", [{"precision": "bfloat16"}, {"workers": 2}, {"ema": 0.9}], ids=str)
def test_the_start_stays_zeros_however_it_is_computed(changes: dict[str, object], store: TokenStore) -> None:
    settings = SETTINGS.model_copy(update=changes)
    training = make_training(store, settings, ZEROS)
    training.go(settings, Progress())
    assert isinstance(training.model, Transformer)
    assert not training.model.target_embedding.table.weight[SYMBOL_IDS.start].any()


@pytest.mark.parametrize("optimiser", get_args(OptimiserName))
def test_what_was_pruned_stays_zero_and_the_rest_learns(optimiser: OptimiserName, store: TokenStore) -> None:
    settings = SETTINGS.model_copy(update={"optimiser": optimiser, "weight_decay": 0.1})
    training = make_training(store, settings)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in training.model.parameters():
            weight.mul_(torch.rand(weight.shape, generator=generator) < 0.5)
    training.updater.kept_zeros = kept = KeptZeros(training.model, of_matrices=True)
    before = {name: weight.detach().clone() for name, weight in training.model.named_parameters()}
    matrices = [weight for weight in before.values() if weight.dim() >= 2]
    assert kept.count == sum(int((weight == 0).sum()) for weight in matrices)
    training.go(settings, Progress())
    for name, weight in training.model.named_parameters():
        if weight.dim() >= 2:
            assert not weight[before[name] == 0].any()
        assert not torch.equal(weight, before[name])
    assert any(weight[before[name] == 0].any() for name, weight in training.model.named_parameters())  # of vectors
