"""Kernels of a GPU beside the formulas, by the comparisons with which they are tried before they are used."""

import pytest
import torch
from torch import nn

from openwork.nn.kernels.gpu.trials import attention_difference, loss_difference, norm_difference, rectified_difference
from openwork.nn.kernels.in_layout import linear_in_layout, linears_in_layout, rectified_in_layout, side_by_side

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


@pytest.mark.parametrize("vocabulary", [10, 37, 300, 5000])
def test_the_loss_of_rows_and_its_gradient(vocabulary: int, dtype: torch.dtype, kernel_device: torch.device) -> None:
    assert loss_difference(kernel_device, vocabulary, dtype) < TOLERANCES[dtype]


@pytest.mark.parametrize("width", [24, 512, 600])
def test_the_gradient_before_rectifying_and_its_sums(
    width: int, dtype: torch.dtype, kernel_device: torch.device
) -> None:
    assert rectified_difference(kernel_device, width, dtype) < TOLERANCES[dtype]


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


def test_a_rectified_layer_is_the_rectifier_of_the_layer() -> None:
    layer = nn.Linear(6, 5)
    x = torch.randn(2, 3, 6, requires_grad=True)
    expected = layer(x).relu()
    found = rectified_in_layout(layer, x)
    torch.testing.assert_close(found, expected)
    wanted = torch.autograd.grad(expected.square().sum(), [x, *layer.parameters()])
    for one, other in zip(torch.autograd.grad(found.square().sum(), [x, *layer.parameters()]), wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_layers_of_one_input_as_one_product() -> None:
    layers = [nn.Linear(6, width, bias=False) for width in (5, 4)]
    x = torch.randn(2, 3, 6, requires_grad=True)
    weights = [layer.weight for layer in layers]
    expected = [layer(x) for layer in layers]
    found = linears_in_layout(layers, torch.cat(weights).detach(), x)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    wanted = torch.autograd.grad(sum((part**2).sum() for part in expected), [x, *weights])
    for one, other in zip(
        torch.autograd.grad(sum((part**2).sum() for part in found), [x, *weights]), wanted, strict=True
    ):
        torch.testing.assert_close(one, other)


def test_parts_that_lie_side_by_side_are_not_copied() -> None:
    whole = torch.arange(24.0).view(3, 8)
    found = side_by_side(whole[:, 1:7].split((4, 2), 1))
    assert found.data_ptr() == whole[:, 1:].data_ptr() and torch.equal(found, whole[:, 1:7])
    for parts in ((whole[:, 4:], whole[:, :4]), (whole[:, :2], whole[:, 3:5]), (whole[:, :2], whole.clone()[:, 2:4])):
        assert torch.equal(side_by_side(parts), torch.cat(parts, 1))
