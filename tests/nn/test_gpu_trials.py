"""Kernels of a GPU are used once they have been tried: what is wrong, or fails, is left to the framework."""

import warnings
from collections.abc import Callable

import pytest
import torch

from openwork.models.build import build_model
from openwork.nn.kernels import gpu
from openwork.nn.kernels.gpu import trials
from training.tiny import CPU, MODEL

CARD = torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that can run Triton, as far as the register of kernels can see."""
    monkeypatch.setattr(gpu, "_right", {})
    monkeypatch.setattr(gpu, "runs_triton", lambda device: device.type == "cuda")
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


def test_a_kernel_is_tried_once_on_a_device_and_for_a_size() -> None:
    tried: list[int] = []

    def difference() -> float:
        tried.append(1)
        return 0.01

    assert not gpu.is_available(CARD, "norm", 8)
    assert gpu.is_right(torch.device("cuda"), ("norm", 8), difference) and gpu.is_right(CARD, ("norm", 8), difference)
    assert len(tried) == 1
    assert gpu.is_available(CARD, "norm", 8)
    assert not gpu.is_available(CARD, "norm", 16) and not gpu.is_available(CARD, "loss")
    assert not gpu.is_available(torch.device("cuda", 1), "norm", 8) and not gpu.is_available(CPU, "norm", 8)


def raises() -> float:
    raise RuntimeError("no such instruction\nand more")


@pytest.mark.parametrize(
    ("difference", "words"),
    [(lambda: 0.2, "wrong by 20.0%"), (lambda: float("nan"), "wrong by nan"), (raises, "more slowly: no such instr")],
)
def test_what_is_wrong_or_fails_is_not_used(difference: Callable[[], float], words: str) -> None:
    with pytest.warns(UserWarning, match=words) as given:
        assert not gpu.is_right(CARD, ("loss",), difference)
    assert "\n" not in str(given[0].message) and "loss" in str(given[0].message)
    with warnings.catch_warnings(record=True) as again:
        assert not gpu.is_right(CARD, ("loss",), difference) and not gpu.is_available(CARD, "loss")
    assert not again


def test_a_trial_does_not_use_what_it_tries() -> None:
    assert gpu.is_right(CARD, ("step", 64, 1), lambda: float(gpu.is_available(CARD, "step", 64, 1)))


def test_a_training_tries_the_sizes_of_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    for name in ("attention", "norm"):
        monkeypatch.setattr(
            trials, f"{name}_difference", lambda device, width, name=name: (asked.append((name, width)), 0.0)[1]
        )
    for name in ("loss", "rectified"):
        monkeypatch.setattr(trials, f"{name}_difference", lambda device, name=name: (asked.append((name, 0)), 0.0)[1])
    model = build_model(MODEL.model_copy(update={"width": 16}), 12, 12)
    assert trials.try_training_kernels(model, {(8, 8), (8, 4), (256, 256)}, CARD)
    assert sorted(asked) == [("attention", 8), ("loss", 0), ("norm", 16), ("rectified", 0)]
    assert gpu.is_available(CARD, "attention", 8) and gpu.is_available(CARD, "loss")
    assert not trials.try_training_kernels(model, {(8, 8)}, CPU)


def test_norms_are_tried_with_gradients_where_others_compute_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def difference(_device: torch.device, width: int) -> float:
        x = torch.ones(width, requires_grad=True)
        (gradient,) = torch.autograd.grad(x.square().sum(), x)
        return float((gradient - 2).abs().max())

    monkeypatch.setattr(trials, "norm_difference", difference)
    with torch.inference_mode():
        trials.try_norms(build_model(MODEL, 12, 12), CARD)
    assert gpu.is_available(CARD, "norm", MODEL.width)
