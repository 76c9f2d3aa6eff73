"""Costs that are counted, against those by formula; test_cost.py holds both against torch and autograd."""

import resource

import pytest
import torch
from torch import nn

from openwork.cost.cost import Cost, cost_of, weights_of
from openwork.cost.counted import ProductCounter, count_cost
from openwork.cost.part import SentenceLengths
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import count_weights
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import DecoderSettings, TransformerSettings

pytestmark = pytest.mark.slow

VOCABULARY, LENGTHS = 60, SentenceLengths(21, 19)
SMALL = TransformerSettings(width=64, heads=4, feedforward_width=128, encoder_layers=2, decoder_layers=3)
MODELS: dict[str, ModelSettings] = {
    "transformer": SMALL,
    "free": SMALL.model_copy(update={"tying": "none", "positions": "learned", "maximum_length": 40, "norm": "pre"}),
    "narrow": SMALL.model_copy(update={"feedforward": "geglu", "key_value_heads": 1, "output_bias": True}),
    "unscaled": SMALL.model_copy(update={"attention": "unscaled"}),
}


def counted(settings: ModelSettings, lengths: SentenceLengths = LENGTHS) -> Cost:
    return Cost(*count_cost(settings, VOCABULARY, VOCABULARY, lengths))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_counted_is_what_the_formulas_say(name: str) -> None:
    settings = MODELS[name]
    formula = cost_of(settings, VOCABULARY, source_length=LENGTHS.source, target_length=LENGTHS.target)
    found = counted(settings)
    assert found.weights == formula.weights
    assert found.linear == formula.linear
    assert found.output == formula.output
    assert found.forward_flops == pytest.approx(formula.forward_flops, rel=1e-12)
    for size in (4, 2):
        assert found.kept(1000, size) == pytest.approx(formula.kept(1000, size), rel=0.04), size


def test_a_family_without_formulas_is_counted() -> None:
    settings = RecurrentSettings(width=32, tying="target")
    found = cost_of(settings, 50, 40, source_length=9.3, target_length=6.8)
    assert [part.name for part in found.parts] == ["output", "layers", "embeddings, norms and biases"]
    assert found.lengths == SentenceLengths(9, 7) and found.output == (40, 32)  # whole tokens
    with torch.device("meta"):
        assert weights_of(settings, 50) == count_weights(build_model(settings, 50, 50))
        assert found.weights == count_weights(build_model(settings, 50, 40))


@pytest.mark.parametrize(
    ("own", "read"),
    [
        (40, SentenceLengths(20, 20)),
        (41, SentenceLengths(20, 20)),
        (2, SentenceLengths(1, 1)),
        (60, SentenceLengths(25, 25)),
    ],
)
def test_sentences_are_counted_that_the_model_can_read(own: int, read: SentenceLengths) -> None:
    """A decoder has its positions for source and target together."""
    settings = DecoderSettings(layers=1, width=8, heads=2, positions="learned", maximum_length=own)
    assert cost_of(settings, 50).lengths == read


def test_by_hand() -> None:
    """A convolution, a product of matrices, one with a vector, and a layer that the framework computes as one."""
    with torch.enable_grad(), ProductCounter() as counter:
        convolution = nn.Conv1d(3, 5, kernel_size=2)
        assert counter.flops == 0
        convolution(torch.ones(2, 3, 8))
        assert counter.flops == 2 * 2 * 7 * (3 * 2 * 5)
        counter.flops = 0
        zeros = torch.ones(4, 6) @ torch.ones(6, 7)
        assert counter.flops == 2 * 4 * 6 * 7 and zeros.shape == (4, 7) and not zeros.any()
        counter.flops = 0
        vector = torch.ones(4, 6) @ torch.ones(6)
        assert vector.shape == (4,) and counter.flops == 2 * 4 * 6
        counter.flops = 0
        nn.LSTM(3, 5, num_layers=2, bidirectional=True)(torch.ones(4, 2, 3))
        assert counter.flops == 2 * (4 * 2) * 2 * (4 * 5 * (3 + 5) + 4 * 5 * (10 + 5))


def test_counting_leaves_no_trace() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    counted(SMALL)
    assert torch.equal(torch.rand(4), expected)


def test_a_large_model_is_not_computed() -> None:
    """A thousand million weights: 4 GB, and 2 GB in bfloat16, if anything were written into them."""
    vast = TransformerSettings(width=4096, feedforward_width=16_384, encoder_layers=2, decoder_layers=2)
    before = resident()
    parts, *_ = count_cost(vast, 32_000, 32_000, SentenceLengths(2, 2))
    assert sum(part.weights for part in parts) == cost_of(vast, 32_000).weights > 1e9
    assert resident() - before < 400e6


def resident() -> float:
    """The most bytes that this process ever had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
