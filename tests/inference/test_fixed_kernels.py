"""Searches of fixed sizes by our own kernels and by the framework's; on a CPU by Triton's interpreter."""

from typing import Any

import pytest
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.fixed.beam import FixedBeamSearch
from openwork.decoding.fixed.greedy import FixedGreedySearch
from openwork.decoding.fixed.search import advance_until_done
from openwork.decoding.scoring import Hypothesis, length_limits
from openwork.decoding.settings import DecodingSettings
from openwork.inference.fixed.sizes import FixedSizes
from openwork.inference.fixed.transformer import FixedTransformer
from openwork.inference.fixed.trials import choice_difference, step_difference
from openwork.inference.fixed.weights import FixedWeights
from openwork.models.build import build_transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.kernels.gpu import TOLERANCE, step_attention

SIZES = TransformerSettings(
    width=64, heads=2, feedforward_width=32, encoder_layers=1, decoder_layers=2, output_bias=True
)
LENGTHS = torch.tensor([5, 2, 4])
SOURCE = torch.randint(4, 40, (3, 5), generator=torch.Generator().manual_seed(2))


@pytest.fixture
def device(kernel_device: torch.device) -> torch.device:
    return kernel_device


def weights(device: torch.device, dtype: torch.dtype) -> FixedWeights:
    torch.manual_seed(3)
    model = build_transformer(SIZES, 40, 1500).to(device).eval()
    assert model.bias is not None
    with torch.no_grad():
        model.output_weight.mul_(2.0)
        model.bias[SYMBOL_IDS.end] = 5.0
    return FixedWeights(model, dtype)


@torch.inference_mode()
@pytest.mark.parametrize("beam", [1, 3])
def test_a_step_by_kernels(beam: int, device: torch.device) -> None:
    known, found = weights(device, torch.float16), []
    rows = 4 * beam
    for has_kernels in (False, True):
        model = FixedTransformer(known, FixedSizes(4, beam, 16, 32))
        model.has_kernels = has_kernels
        model.start(SOURCE, LENGTHS)
        torch.manual_seed(1)
        for position in range(9):
            places = torch.randint(beam, (4, beam), device=device)
            parents = (places + torch.arange(0, rows, beam, device=device)[:, None]).flatten()
            tokens = torch.randint(4, 1500, (rows,), device=device)
            at = torch.tensor(position, device=device)
            logits = model.step(tokens, None if beam == 1 or not position else parents, at)
        found.append(logits.float())
    torch.testing.assert_close(found[1], found[0], rtol=2e-2, atol=5e-2)


@torch.inference_mode()
def found_by(known: FixedWeights, settings: DecodingSettings, has_kernels: bool) -> list[list[Hypothesis]]:
    model = FixedTransformer(known, FixedSizes(4, settings.beam, 16, 32))
    search = (FixedGreedySearch if settings.beam == 1 else FixedBeamSearch)(model, settings)
    search.has_kernels = has_kernels
    model.start(SOURCE, LENGTHS)
    limits = length_limits(LENGTHS, settings)
    search.start(limits)
    advance_until_done(search, search.advance, int(limits.max()))
    return search.results()


@pytest.mark.parametrize(
    "decoding",
    [
        {"beam": 1}, {"beam": 4, "best": 3}, {"beam": 3, "best": 3, "unfinished": "ranked", "length_penalty": 0.0},
        {"beam": 2, "stopping": "no-better"},
    ],
)  # fmt: skip
def test_kernels_choose_what_the_framework_chooses(decoding: dict[str, Any], device: torch.device) -> None:
    known, settings = weights(device, torch.float32), DecodingSettings(extra_length=5, **decoding)
    expected, found = (found_by(known, settings, has_kernels) for has_kernels in (False, True))
    assert [[one.tokens for one in best] for best in found] == [[one.tokens for one in best] for best in expected]
    assert [[one.finished for one in best] for best in found] == [[one.finished for one in best] for best in expected]
    for best, others in zip(found, expected, strict=True):
        assert [one.score for one in best] == pytest.approx([one.score for one in others], abs=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("beam", [1, 4])
def test_trials_find_the_kernels_right(beam: int, device: torch.device) -> None:
    assert step_difference(weights(device, torch.float16), beam) < TOLERANCE
    assert choice_difference(1500, beam, device) == 0.0


@torch.inference_mode()
def test_trials_notice_what_is_wrong(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    attend = step_attention.attend_to_source
    monkeypatch.setattr(step_attention, "attend_to_source", lambda *given: 2 * attend(*given))
    assert step_difference(weights(device, torch.float16), 4) > TOLERANCE
    monkeypatch.setattr(FixedGreedySearch, "_choose", lambda search, best: search.position.fill_(0))
    assert choice_difference(1500, 1, device) == float("inf")
