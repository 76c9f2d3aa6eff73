"""A model without one of its heads: its attention is the sum of the others."""

from typing import Any

import pytest
import torch

from openwork.base.errors import ConfigError
from openwork.experiments.heads import heads_of
from openwork.inference.attention_maps.removal import without_head
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import DecoderSettings, EncoderSettings, TransformerSettings
from openwork.nn.attention import MultiHeadAttention

SMALL: dict[str, Any] = {"width": 8, "feedforward_width": 8, "heads": 4}
KINDS = [
    TransformerSettings(**SMALL, encoder_layers=2, decoder_layers=1),
    DecoderSettings(**SMALL, layers=2),
    EncoderSettings(**SMALL, layers=2),
]


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: settings.kind)
def test_every_attention_is_named(settings: ModelSettings):
    model = build_model(settings, 10, 10)
    attentions = {name for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    assert {name for name, _ in heads_of(settings)} == attentions
    assert {count for _, count in heads_of(settings)} == {4}


def test_the_attention_is_the_sum_of_the_other_heads():
    torch.manual_seed(1)
    model = build_model(KINDS[0], 10, 10).eval()
    attention = model.get_submodule("encoder.layers.1.self_attention")
    assert isinstance(attention, MultiHeadAttention)
    heads, weight = torch.randn(3, 8), attention.output.weight.detach().clone()
    with without_head(model, "encoder.layers.1.self_attention.3"), torch.no_grad():
        found = attention.output(heads)
    kept = [0, 1, 2, 3, 6, 7]  # two numbers a head
    torch.testing.assert_close(found, heads[:, kept] @ weight[:, kept].T)
    assert torch.equal(attention.output.weight, weight), "it is back"


def test_without_the_only_head_nothing_is_attended_to():
    settings = TransformerSettings(**{**SMALL, "heads": 1}, encoder_layers=1, decoder_layers=1)
    model = build_model(settings, 10, 10).eval()
    source, lengths, target = torch.tensor([[4, 5, 6]]), torch.tensor([3]), torch.tensor([[2, 7]])
    with torch.no_grad(), without_head(model, "decoder.layers.0.cross_attention.1"):
        one = model.step(target, model.start(source, lengths))[0]
        other = model.step(target, model.start(source + 1, lengths))[0]
    assert torch.equal(one, other)


def test_it_is_whole_again_after_an_error():
    model = build_model(KINDS[1], 10, 10)
    weight = model.get_submodule("stack.layers.0.self_attention.output").weight.detach().clone()
    with pytest.raises(KeyError), without_head(model, "stack.layers.0.self_attention.1"):
        raise KeyError
    assert torch.equal(model.get_submodule("stack.layers.0.self_attention.output").weight, weight)


def test_a_recurrent_model_has_no_heads():
    with pytest.raises(ConfigError, match="a model of the kind recurrent has no attention heads") as refused:
        heads_of(RecurrentSettings())
    assert refused.value.code == "C138"
