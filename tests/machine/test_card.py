"""What is chosen on which GPU, without one: all choices follow from its description."""

import dataclasses

import pytest
import torch

from openwork.inference.engine import Engine
from openwork.machine.card import Card, card_of
from openwork.machine.precision import choose_precision
from openwork.models.build import build_model
from openwork.nn.kernels import gpu
from openwork.nn.kernels.packed import is_supported
from openwork.training.batches.batch import to_tensors
from openwork.training.batches.packing import FewSizes, pack
from openwork.training.computing import choice
from openwork.training.computing.choice import arrangement, wants_compiling
from openwork.training.settings import TrainingSettings
from training.cards import A100, GIB, GPU, H100, OLD, SMALL, WITHOUT_TRITON, be
from training.tiny import CPU, MODEL


@pytest.mark.parametrize(
    ("card", "precision", "packs", "kernels"),
    [
        (A100, "bfloat16", True, True),
        (H100, "bfloat16", True, True),
        (SMALL, "bfloat16", True, True),
        (OLD, "float32", False, False),
        (WITHOUT_TRITON, "bfloat16", True, False),
    ],
    ids=["A100", "H100", "6 GB", "6 GB, old", "without Triton"],
)
def test_a_training_is_arranged_for_the_card(
    card: Card, precision: str, packs: bool, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    be(card, monkeypatch)
    assert card_of(GPU) is card and card_of(torch.device("cuda", 0)) is card
    chosen = choose_precision("auto", GPU)
    assert chosen == precision and choose_precision("float32", GPU) == "float32"
    assert is_supported(GPU) is packs and gpu.runs_triton(GPU) is kernels
    monkeypatch.setattr(choice, "try_training_kernels", lambda model, heads, device: gpu.runs_triton(device))
    model, settings = build_model(MODEL.model_copy(update={"width": 16}), 12, 12), TrainingSettings()
    arrange = arrangement(settings, 25_000, model, chosen, GPU)
    if kernels:
        assert arrange.keywords == {"sizes": FewSizes.of(25_000)}  # type: ignore[union-attr]
    else:
        assert arrange is (pack if packs else to_tensors)
    # passes that are captured are not compiled; all others on a GPU are
    assert wants_compiling("auto", model, GPU, captured=kernels) is not kernels


def test_how_much_is_computed_at_once_follows_from_the_memory() -> None:
    assert [card.logits_at_once for card in (A100, H100)] == [512_000_000] * 2
    assert 2 * SMALL.logits_at_once <= SMALL.memory / 16
    assert [card.search_tokens for card in (H100, SMALL)] == [131_072, 12_288]
    tiny = dataclasses.replace(SMALL, memory=GIB // 2)
    assert tiny.search_tokens == 2_048 and tiny.logits_at_once < 17_000_000


def test_a_cpu_is_no_card() -> None:
    assert card_of(CPU) is None and not is_supported(CPU) and not gpu.runs_triton(CPU)
    model = build_model(MODEL, 12, 12)
    assert not wants_compiling("auto", model, CPU) and wants_compiling("on", model, CPU)
    assert not Engine(model, "auto").is_fixed
