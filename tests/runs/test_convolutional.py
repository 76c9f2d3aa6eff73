"""Bundles of convolutional models pass `openwork verify`, and a past that is lost fails in its own line."""

import pytest
import torch
from torch import Tensor

from bundles.kept import NEWEST
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.settings import BundleSettings
from openwork.checks.check import CheckResult, Status
from openwork.checks.verify import verify_bundle
from openwork.inference.golden import make_golden
from openwork.models.build import build_model
from openwork.models.convolutional_settings import ByteNetSettings, ConvS2SSettings, WaveNetSettings
from openwork.models.families import ModelSettings
from openwork.nn.convolution import CausalConvolution

pytestmark = pytest.mark.slow

CONVS2S = ConvS2SSettings(width=12, encoder_layers=2, decoder_layers=2)
BYTENET = ByteNetSettings(width=12, encoder_layers=3, decoder_layers=3, cycle=2)
WAVENET = WaveNetSettings(width=12, skip_width=12, layers=4, cycle=2)


def bundle_of(settings: ModelSettings) -> Bundle:
    before = load_bundle(NEWEST)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        size = before.tokenizers.source.vocabulary_size
        model = build_model(settings, size, size).eval()
    made = Bundle(BundleSettings(model=settings, decoding=before.settings.decoding), before.tokenizers, model)
    return make_golden(made, ["a b c", "d e"])


def failed(outcomes: list[CheckResult]) -> set[str]:
    return {outcome.name for outcome in outcomes if outcome.status is Status.FAILED} - {"golden"}


@pytest.mark.parametrize("settings", [CONVS2S, BYTENET, WAVENET], ids=lambda settings: settings.kind)
def test_a_sound_bundle_passes(settings: ModelSettings):
    outcomes = verify_bundle(bundle_of(settings))
    left_out = {outcome.name for outcome in outcomes if outcome.status is not Status.PASSED}
    kernels = set() if settings is CONVS2S else {"kernels"}
    assert left_out == {"prepared", "eight-bits", "compiled-step", "shortlist", "draft", "compiled"} | kernels


def test_a_past_that_is_lost(monkeypatch: pytest.MonkeyPatch):
    sound = CausalConvolution.forward

    def forgetting(self: CausalConvolution, x: Tensor, past: Tensor | None = None) -> object:
        outputs, after = sound(self, x, past)
        return outputs, after[:, :0] if after is not None else None

    monkeypatch.setattr(CausalConvolution, "forward", forgetting)
    assert failed(verify_bundle(bundle_of(BYTENET))) == {"cached"}


def test_padding_that_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("openwork.models.convs2s.without_padding", lambda x, lengths: x)
    assert failed(verify_bundle(bundle_of(CONVS2S))) == {"padding"}
