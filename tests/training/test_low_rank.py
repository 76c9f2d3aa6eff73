"""Low-rank adapters: what they compute, that they can be merged, and that they alone learn."""

import pytest
import torch
from torch import nn

from openwork.base.errors import ConfigError
from openwork.inference.prepared import can_be_prepared
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights
from openwork.nn.low_rank import AdaptedLinear
from openwork.training.optimisers import make_optimiser
from openwork.training.settings import TrainingSettings
from openwork.training.step import WorkingCopy
from openwork.training.trained_weights import adapt, adapters, freeze_all_but_adapters, merge, merged_tensors

SMALL = TransformerSettings(
    width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=2, attention_bias=True, norm="pre"
)
SOURCE, LENGTHS, TARGET = (
    torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]]),
    torch.tensor([4, 2]),
    torch.tensor([[2, 9], [2, 4]]),
)
ATTENTION = ("*.query", "*.value")


def made(rank: int = 2, patterns: tuple[str, ...] = ATTENTION, scale: float = 1.5) -> SequenceModel:
    """With adapters that say something."""
    torch.manual_seed(1)
    model = build_model(SMALL, 13, 13).eval()
    adapt(model, patterns, rank, scale)
    for layer in adapters(model).values():
        nn.init.normal_(layer.up, std=0.5)
    return model


def test_the_formula_by_hand() -> None:
    plain = nn.Linear(2, 3)
    layer = AdaptedLinear(plain, rank=1, scale=2.0)
    layer.down.detach().copy_(torch.tensor([[1.0, -1.0]]))
    x = torch.tensor([[5.0, 2.0]])
    assert torch.equal(layer(x), plain(x))  # B is zero at first
    layer.up.detach().copy_(torch.tensor([[1.0], [0.0], [-2.0]]))
    torch.testing.assert_close(layer(x), plain(x) + torch.tensor([[6.0, 0.0, -12.0]]))  # 2 (5 - 2) B


def test_a_model_begins_as_it_was() -> None:
    torch.manual_seed(1)
    model = build_model(SMALL, 13, 13).eval()
    before = model(SOURCE, LENGTHS, TARGET)
    names = adapt(model, ATTENTION, 2, 1.0)
    assert names == [
        f"{place}.{part}"
        for part in ("query", "value")
        for place in (
            "encoder.layers.0.self_attention", "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention",
            "decoder.layers.1.self_attention", "decoder.layers.1.cross_attention",
        )
    ]  # fmt: skip
    assert torch.equal(model(SOURCE, LENGTHS, TARGET), before)


def test_merged_is_unmerged() -> None:
    model = made()
    with torch.no_grad():
        expected, kept = model(SOURCE, LENGTHS, TARGET), model_weights(model)
        kept = {name: weight.clone() for name, weight in kept.items()}
        plain = build_model(SMALL, 13, 13).eval()
        before = plain(SOURCE, LENGTHS, TARGET)
        assert merge(model) == 10 and not adapters(model) and merge(model) == 0
        found = model(SOURCE, LENGTHS, TARGET)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(before, expected, atol=0.1)
    own = model_weights(model)
    assert own.keys() == model_weights(plain).keys() and all(not isinstance(m, AdaptedLinear) for m in model.modules())
    # and what a checkpoint holds comes to the same weights
    tensors = merged_tensors(kept)
    assert tensors.keys() == own.keys() and all(torch.equal(tensors[name], own[name]) for name in own)


def test_only_adapters_and_what_is_fresh_learn() -> None:
    model = made()
    freeze_all_but_adapters(model, fresh=["output"])
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert learning == {f"{name}.{end}" for name in adapters(model) for end in ("down", "up")} | {"output"}
    before = {name: weight.clone() for name, weight in model_weights(model).items()}
    optimiser = make_optimiser(model, TrainingSettings())
    optimiser.param_groups[0]["lr"] = 0.1
    model.train().project(model(SOURCE, LENGTHS, TARGET)).square().sum().backward()
    optimiser.step()
    changed = {name for name, weight in model_weights(model).items() if not torch.equal(weight, before[name])}
    assert changed == learning
    assert sum(len(group["params"]) for group in optimiser.param_groups) == len(learning)


def test_in_bfloat16_the_working_copy_has_them_too() -> None:
    model = made()
    freeze_all_but_adapters(model)
    copy = WorkingCopy(model, "bfloat16")
    for layer in adapters(model).values():
        layer.up.detach().mul_(-1.0)
    copy.refresh()
    working = adapters(copy.model)
    assert all(layer.up.dtype is layer.weight.dtype is torch.bfloat16 for layer in working.values())
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        found = copy.model(SOURCE, LENGTHS, TARGET).float()
    torch.testing.assert_close(found, model(SOURCE, LENGTHS, TARGET).detach(), rtol=0.05, atol=0.1)


def test_a_model_with_adapters_is_not_prepared() -> None:
    model = made()
    assert not can_be_prepared(model)
    merge(model)
    assert can_be_prepared(model)


def test_patterns() -> None:
    model = made(patterns=("decoder.layers.1.cross_attention",))
    assert {name.rpartition(".")[2] for name in adapters(model)} == {"query", "key", "value", "output"}
    for pattern in ("encoder.layers.7.*", "encoder.layers.0.self_attention.query.weight"):
        with pytest.raises(ConfigError, match="names no linear layer"):
            made(patterns=(pattern,))
    with pytest.raises(ConfigError, match="adapter of rank 8"):  # 8 (16 + 16) weights are as many as 16 x 16
        made(rank=8)


def test_layers_that_are_no_larger_than_an_adapter_get_none() -> None:
    """Such as the score of additive attention, a single row."""
    model = build_model(RecurrentSettings(width=12), 13, 13)
    names = adapt(model, ("decoder",), 2, 1.0)
    assert "decoder.attention.query" in names and "decoder.attention.score" not in names
