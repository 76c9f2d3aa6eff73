"""The Transformer: the paper's sizes, the framework's own stack, and what its settings refuse."""

import math

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from nn.framework import copy_decoder_layer, copy_encoder_layer, disturb
from openwork.models.build import build_model, build_transformer
from openwork.models.families import FAMILIES
from openwork.models.interfaces import count_weights
from openwork.models.presets import PRESETS
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.positions import sinusoids

KINDS = {str(family.model_fields["kind"].default): family for family in FAMILIES}


def counted(s: TransformerSettings, vocabulary: int) -> int:
    """Weights by hand: one tied embedding, attention without biases, feed-forward with, two vectors a norm."""
    attention = 2 * s.width * s.heads * s.key_width + 2 * s.width * s.heads * s.value_head_width
    feedforward = 2 * s.width * s.feedforward_width + s.feedforward_width + s.width
    norm = 2 * s.width
    encoder = s.encoder_layers * (attention + feedforward + 2 * norm)
    decoder = s.decoder_layers * (2 * attention + feedforward + 3 * norm)
    return vocabulary * s.width + encoder + decoder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "millions"),
    [
        # Table 3 of the paper with a vocabulary of 37,000, in millions.
        (PRESETS["paper-base"], 63.045632),  # 18,944,000 + 6 * 3,150,336 + 6 * 4,199,936
        (PRESETS["paper-big"], 214.171648),  # 37,888,000 + 6 * 12,592,128 + 6 * 16,788,480
        ({"head_width": 16}, 55.97),  # rows B
        ({"head_width": 32}, 58.33),
        ({"encoder_layers": 2, "decoder_layers": 2}, 33.64),  # rows C
        ({"encoder_layers": 4, "decoder_layers": 4}, 48.35),
        ({"encoder_layers": 8, "decoder_layers": 8}, 77.75),
        ({"width": 256, "head_width": 32, "value_width": 32}, 26.82),
        ({"width": 1024, "head_width": 128, "value_width": 128}, 163.8),
        ({"feedforward_width": 1024}, 50.45),
        ({"feedforward_width": 4096}, 88.24),
    ],
)
def test_weights_of_the_papers_models(changes: dict[str, object], millions: float) -> None:
    settings = TransformerSettings.model_validate(changes)
    with torch.device("meta"):
        model = build_transformer(settings, 37000, 37000)
    assert count_weights(model) == counted(settings, 37000)
    digits = len(str(millions).partition(".")[2])
    assert round(count_weights(model) / 1e6, digits) == millions


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_model(name: str) -> None:
    settings = KINDS[str(PRESETS[name]["kind"])].model_validate(PRESETS[name])
    with torch.device("meta"):
        assert count_weights(build_model(settings, 100, 100)) > 0


def tiny(norm: str, kernel: Kernel = fused.attention) -> Transformer:
    torch.manual_seed(2)
    settings = TransformerSettings.model_validate(
        {"width": 12, "heads": 3, "feedforward_width": 20, "encoder_layers": 2, "decoder_layers": 2}
        | {"norm": norm, "attention_bias": True, "tying": "none"}
    )
    model = build_transformer(settings, 9, 11, kernel)
    disturb(model)
    return model.eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_whole_is_the_frameworks(norm: str) -> None:
    ours = tiny(norm)
    first, closing = norm == "pre", nn.LayerNorm(12, eps=1e-6) if norm == "pre" else None
    sizes = {"layer_norm_eps": 1e-6, "batch_first": True, "norm_first": first}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(12, 3, 20, 0.1, **sizes), 2, closing, enable_nested_tensor=False
    ).eval()
    last = nn.LayerNorm(12, eps=1e-6) if first else None
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 3, 20, 0.1, **sizes), 2, last).eval()
    for mine, theirs in zip(ours.encoder.layers, encoder.layers, strict=True):
        copy_encoder_layer(mine, theirs)
    for mine, theirs in zip(ours.decoder.layers, decoder.layers, strict=True):
        copy_decoder_layer(mine, theirs)
    if closing is not None and last is not None:
        closing.load_state_dict(ours.encoder.final_norm.state_dict())
        last.load_state_dict(ours.decoder.final_norm.state_dict())

    source, lengths = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]]), torch.tensor([4, 2])
    target = torch.tensor([[2, 8, 9], [2, 10, 4]])
    hidden = torch.arange(4)[None] >= lengths[:, None]
    later = torch.ones(3, 3).triu(1).bool()
    scale = math.sqrt(12)
    with torch.no_grad():
        x = ours.source_embedding.table(source) * scale + sinusoids(4, 12)
        memory = encoder(x, src_key_padding_mask=hidden)
        torch.testing.assert_close(ours.encode(source, lengths)[~hidden], memory[~hidden], rtol=1e-4, atol=1e-5)
        y = ours.target_embedding.table(target) * scale + sinusoids(3, 12)
        expected = decoder(y, memory, tgt_mask=later, memory_key_padding_mask=hidden)
        torch.testing.assert_close(ours(source, lengths, target), expected, rtol=1e-4, atol=1e-5)
        logits, _ = ours.step(target, ours.start(source, lengths))
    torch.testing.assert_close(logits, expected @ ours.output.T, rtol=1e-4, atol=1e-4)


def test_the_kernel_is_a_part_that_can_be_exchanged() -> None:
    source, lengths, target = torch.full((1, 40), 5), torch.tensor([40]), torch.full((1, 35), 6)
    fast, plain = tiny("pre"), tiny("pre", reference.attention)
    with torch.no_grad():
        torch.testing.assert_close(fast(source, lengths, target), plain(source, lengths, target), rtol=1e-4, atol=1e-5)


def test_fresh_logits_have_unit_variance() -> None:
    torch.manual_seed(0)
    model = build_transformer(TransformerSettings(width=64, encoder_layers=1, decoder_layers=1), 1000, 1000).eval()
    tokens = torch.randint(4, 1000, (8, 10))
    logits, _ = model.step(tokens, model.start(tokens, torch.full((8,), 10)))
    assert logits.std().item() == pytest.approx(1.0, abs=0.2)


def test_a_width_that_heads_do_not_divide_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValidationError, match="take 5 heads, a width of 104, or set head_width and value_width"):
        TransformerSettings(width=100, heads=8)
    settings = TransformerSettings(width=100, heads=8, head_width=7, value_width=9)
    assert (settings.key_width, settings.value_head_width) == (7, 9)
    assert TransformerSettings(width=96, heads=8, head_width=7).value_head_width == 12
