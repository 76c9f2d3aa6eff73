"""Our attention, layers and stacks are the framework's own, in float64 to 1e-10, whatever it can be set to.

Weights are ours, copied over by `nn/framework.py`. The gradient is left on, so that the framework takes its plain path:
its fast one gives other numbers at padded positions, and here these are compared as well.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from nn.framework import copy_attention, copy_decoder_layer, copy_encoder_layer, copy_transformer, disturb
from nn.framework import without_biases as zero_biases
from openwork.models.build import build_transformer
from openwork.models.parts import CONNECTIONS, FEEDFORWARDS
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.layers import DecoderLayer, EncoderLayer
from openwork.nn.masks import Mask
from openwork.nn.normalisation import EPSILON, layer_norm
from openwork.nn.recording import recording

pytestmark = pytest.mark.slow

TOLERANCE = 1e-10
WIDTH, HEADS, INNER = 12, 3, 20
SOURCE, TARGET = 18, 17  # their products are beyond `fused.PLAIN_ATTENTION`: the fused kernel takes its own way
SOURCE_LENGTHS, TARGET_LENGTHS = torch.tensor([18, 11]), torch.tensor([9, 17])
KERNELS = {"reference": reference.attention, "fused": fused.attention}
MASKS = list(itertools.product([False, True], repeat=2))  # padding, causal
MASK_NAMES = ["everything", "causal", "padding", "padding and causal"]


@dataclass(frozen=True)
class Setting:
    """What the framework's layers can be set to."""

    norm_first: bool
    activation: str
    bias: bool

    def __str__(self) -> str:
        return f"{'pre' if self.norm_first else 'post'}-{self.activation}-{'bias' if self.bias else 'no bias'}"

    @property
    def wiring(self) -> str:
        return "pre" if self.norm_first else "post"

    def theirs(self, make: Callable[..., nn.Module], *sizes: int) -> nn.Module:
        options = {"activation": self.activation, "norm_first": self.norm_first, "bias": self.bias}
        return make(*sizes, layer_norm_eps=EPSILON, batch_first=True, dtype=torch.float64, **options).eval()

    def prepared(self, ours: nn.Module) -> nn.Module:
        """Ours with values to be told apart; dropout is on in its settings and must not show."""
        torch.manual_seed(3)
        disturb(ours.double().eval())
        return ours if self.bias else zero_biases(ours)


SETTINGS = [Setting(*values) for values in itertools.product([False, True], ["relu", "gelu"], [True, False])]
each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=str)
each_mask = pytest.mark.parametrize(("padded", "causal"), MASKS, ids=MASK_NAMES)


def mask(lengths: Tensor, padded: bool, causal: bool) -> Mask:
    return Mask(lengths if padded else None, causal)


def hidden(lengths: Tensor, size: int, padded: bool) -> Tensor | None:
    """Keys behind the end, as the framework wants them: True hides."""
    return torch.arange(size) >= lengths[:, None] if padded else None


def later(size: int, causal: bool) -> Tensor | None:
    return torch.ones(size, size).triu(1).bool() if causal else None


def sequence(size: int, seed: int) -> Tensor:
    values = torch.randn(2, size, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return values.requires_grad_()


def assert_equal(found: Tensor, expected: Tensor) -> None:
    assert found.shape == expected.shape and found.dtype == torch.float64
    torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE)


def attention(bias: bool, kernel: Kernel = fused.attention) -> MultiHeadAttention:
    heads = Heads(HEADS, WIDTH // HEADS, WIDTH // HEADS)
    return MultiHeadAttention(WIDTH, heads, bias=bias, weight_dropout=0.1, kernel=kernel)


@each_mask
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_attention(kernel: str, bias: bool, padded: bool, causal: bool) -> None:
    ours = attention(bias, KERNELS[kernel]).double().eval()
    disturb(ours)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, 0.1, bias=bias, batch_first=True, dtype=torch.float64).eval()
    copy_attention(ours, theirs)
    x = sequence(TARGET, 1)
    asked = x if causal else sequence(SOURCE, 2)
    lengths = TARGET_LENGTHS if causal else SOURCE_LENGTHS
    ignored, order = hidden(lengths, asked.shape[1], padded), later(TARGET, causal)
    described = mask(lengths, padded, causal)
    expected, weights = theirs(x, asked, asked, ignored, attn_mask=order, average_attn_weights=False)
    assert_equal(ours(x, ours.keys_values(asked), described), expected)
    with recording(ours) as seen:
        ours(x, ours.keys_values(asked), described)
    assert_equal(seen[""][0], weights)


@each_mask
@each_setting
def test_encoder_layer(setting: Setting, padded: bool, causal: bool) -> None:
    wire, feedforward = CONNECTIONS[setting.wiring], FEEDFORWARDS[setting.activation]
    wirings = (wire(WIDTH, 0.1), wire(WIDTH, 0.1))
    ours = EncoderLayer(attention(setting.bias), feedforward(WIDTH, INNER, 0.1), wirings)
    theirs = setting.theirs(nn.TransformerEncoderLayer, WIDTH, HEADS, INNER)
    assert isinstance(theirs, nn.TransformerEncoderLayer)
    copy_encoder_layer(setting.prepared(ours), theirs)
    x = sequence(SOURCE, 1)
    expected = theirs(x, later(SOURCE, causal), hidden(SOURCE_LENGTHS, SOURCE, padded))
    assert_equal(ours(x, mask(SOURCE_LENGTHS, padded, causal)), expected)


@each_mask
@each_setting
def test_decoder_layer(setting: Setting, padded: bool, causal: bool) -> None:
    wire, feedforward = CONNECTIONS[setting.wiring], FEEDFORWARDS[setting.activation]
    wirings = (wire(WIDTH, 0.1), wire(WIDTH, 0.1), wire(WIDTH, 0.1))
    ours = DecoderLayer(attention(setting.bias), attention(setting.bias), feedforward(WIDTH, INNER, 0.1), wirings)
    theirs = setting.theirs(nn.TransformerDecoderLayer, WIDTH, HEADS, INNER)
    assert isinstance(theirs, nn.TransformerDecoderLayer)
    copy_decoder_layer(setting.prepared(ours), theirs)
    x, memory = sequence(TARGET, 1), sequence(SOURCE, 2)
    behind = hidden(TARGET_LENGTHS, TARGET, padded), hidden(SOURCE_LENGTHS, SOURCE, padded)
    expected = theirs(x, memory, later(TARGET, causal), None, *behind)
    memory_mask, self_mask = mask(SOURCE_LENGTHS, padded, False), mask(TARGET_LENGTHS, padded, causal)
    found, _ = ours(x, ours.start(memory), memory_mask, self_mask)
    assert_equal(found, expected)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@each_mask
@each_setting
def test_whole(setting: Setting, padded: bool, causal: bool) -> None:
    """The model that the builder makes, from the encoder's input to the decoder's output, and the gradient back."""
    changes = {"width": WIDTH, "heads": HEADS, "feedforward_width": INNER, "encoder_layers": 2, "decoder_layers": 2}
    changes |= {"norm": setting.wiring, "feedforward": setting.activation, "attention_bias": setting.bias}
    ours = build_transformer(TransformerSettings.model_validate(changes), 5, 5)
    if not setting.norm_first:  # the framework closes a post-norm stack with a second norm; the paper does not
        ours.encoder.final_norm, ours.decoder.final_norm = layer_norm(WIDTH), layer_norm(WIDTH)
    setting.prepared(ours)
    theirs = setting.theirs(nn.Transformer, WIDTH, HEADS, 2, 2, INNER)
    assert isinstance(theirs, nn.Transformer)
    copy_transformer(ours.encoder, ours.decoder, theirs)
    x, y = sequence(SOURCE, 1), sequence(TARGET, 2)
    behind_source, behind_target = hidden(SOURCE_LENGTHS, SOURCE, padded), hidden(TARGET_LENGTHS, TARGET, padded)
    expected = theirs(
        x, y, tgt_mask=later(TARGET, causal), src_key_padding_mask=behind_source,
        tgt_key_padding_mask=behind_target, memory_key_padding_mask=behind_source,
    )  # fmt: skip
    source_mask = mask(SOURCE_LENGTHS, padded, False)
    memory = ours.encoder(x, source_mask)
    caches = ours.decoder.start(memory)
    found, _ = ours.decoder(y, caches, source_mask, mask(TARGET_LENGTHS, padded, causal))
    assert_equal(found, expected)
    for mine, their in zip(_gradients(found, x, y), _gradients(expected, x, y), strict=True):
        assert_equal(mine, their)


def _gradients(output: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(output.square().sum(), inputs)


def test_a_decoder_that_is_told_nothing_is_causal() -> None:
    setting = SETTINGS[0]
    wire = CONNECTIONS[setting.wiring]
    wirings = (wire(WIDTH, 0.1), wire(WIDTH, 0.1), wire(WIDTH, 0.1))
    ours = DecoderLayer(attention(True), attention(True), FEEDFORWARDS["relu"](WIDTH, INNER, 0.1), wirings)
    setting.prepared(ours)
    x, cache, everything = sequence(TARGET, 1), ours.start(sequence(SOURCE, 2)), Mask()
    assert torch.equal(ours(x, cache, everything)[0], ours(x, cache, everything, Mask(is_causal=True))[0])
    assert not torch.allclose(ours(x, cache, everything)[0], ours(x, cache, everything, everything)[0])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_copying_leaves_no_weight_of_theirs_as_it_was(bias: bool) -> None:
    changes = {"width": WIDTH, "heads": HEADS, "feedforward_width": INNER, "encoder_layers": 1, "decoder_layers": 1}
    settings = TransformerSettings.model_validate(changes | {"norm": "pre", "attention_bias": bias})
    ours = build_transformer(settings, 5, 5)
    theirs = nn.Transformer(WIDTH, HEADS, 1, 1, INNER, bias=bias, norm_first=True)
    for weights in theirs.parameters():
        weights.detach().fill_(float("nan"))
    copy_transformer(ours.encoder, ours.decoder, theirs)
    assert not any(weights.isnan().any() for weights in theirs.parameters())


def test_a_bias_that_they_cannot_hold_is_not_dropped_in_silence() -> None:
    ours = attention(True)
    disturb(ours)
    with pytest.raises(AssertionError, match="ours has a bias"):
        copy_attention(ours, nn.MultiheadAttention(WIDTH, HEADS, bias=False))
