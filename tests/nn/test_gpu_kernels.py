"""Kernels of a GPU beside the formulas, by the comparisons with which they are tried before they are used."""

import pytest
import torch
from torch import nn

from openwork.nn.kernels.gpu.linear import linear_in_layout
from openwork.nn.kernels.gpu.trials import attention_difference, loss_difference, norm_difference

TOLERANCES = {torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}  # of the largest number


@pytest.fixture(params=[torch.float32, torch.float16, torch.bfloat16], ids=str)
def dtype(request: pytest.FixtureRequest, kernel_device: torch.device) -> torch.dtype:
    if kernel_device.type == "cpu" and request.param is torch.bfloat16:
        pytest.skip("the interpreter has no products in bfloat16")
    if kernel_device.type == "cuda" and request.param is torch.float32:
        pytest.skip("products in float32 are those of TF32 there")
    return request.param


@pytest.mark.parametrize("width", [24, 64])
def test_attention_of_sentences_is_the_formula(width: int, dtype: torch.dtype, kernel_device: torch.device) -> None:
    assert attention_difference(kernel_device, width, dtype) < TOLERANCES[dtype]


@pytest.mark.parametrize("width", [16, 100, 512, 1024])
def test_the_norm_of_a_sum_is_that_of_the_framework(
    width: int, dtype: torch.dtype, kernel_device: torch.device
) -> None:
    assert norm_difference(kernel_device, width, dtype) < TOLERANCES[dtype]


@pytest.mark.parametrize("vocabulary", [10, 300, 5000])
def test_the_loss_of_rows_and_its_gradient(vocabulary: int, dtype: torch.dtype, kernel_device: torch.device) -> None:
    assert loss_difference(kernel_device, vocabulary, dtype) < TOLERANCES[dtype]


def test_a_comparison_notices_a_wrong_kernel(kernel_device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    from openwork.nn.kernels.gpu import loss

    right = loss.cross_entropy_
    monkeypatch.setattr(loss, "cross_entropy_", lambda logits, token, share: right(logits, token, 0.0))
    assert loss_difference(kernel_device, 300, torch.float16) > TOLERANCES[torch.float16]


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_whose_gradient_has_the_layout_of_its_weight(bias: bool) -> None:
    layer = nn.Linear(6, 5, bias=bias)
    x = torch.randn(2, 3, 6, requires_grad=True)
    expected = torch.autograd.grad(layer(x).square().sum(), [x, *layer.parameters()])
    found = torch.autograd.grad(linear_in_layout(layer, x).square().sum(), [x, *layer.parameters()])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert found[1].is_contiguous()
