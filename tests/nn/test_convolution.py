"""Convolutions: cases by hand, the framework's own as the other way, pieces and wholes, and how far layers see."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from openwork.models.convs2s import NormalisedLinear
from openwork.nn.cache import select_rows
from openwork.nn.convolution import (
    CausalConvolution,
    Convolution,
    Past,
    dilations,
    gated_tanh,
    taken,
    without_padding,
)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def with_weights(convolution: Convolution, weights: list[float], bias: float) -> Convolution:
    """One number in, one number out."""
    with torch.no_grad():
        convolution.product.weight.copy_(torch.tensor([weights]))  # type: ignore[union-attr]
        convolution.product.bias.fill_(bias)  # type: ignore[union-attr]
    return convolution


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)[None, :, None]


def test_by_hand() -> None:
    x = numbers(1, 2, 3, 4)
    # each position, and 10 times the one before it
    causal = with_weights(CausalConvolution(1, 1, 2), [10, 1], 0.5)
    assert causal(x)[0].flatten().tolist() == [1.5, 12.5, 23.5, 34.5]
    # the one two places before
    dilated = with_weights(CausalConvolution(1, 1, 2, 2), [10, 1], 0)
    assert dilated(x)[0].flatten().tolist() == [1, 2, 13, 24]
    centred = with_weights(Convolution(1, 1, 3), [100, 10, 1], 0)
    assert centred(x).flatten().tolist() == [12, 123, 234, 340]
    # of four positions one before and two behind
    even = with_weights(Convolution(1, 1, 4), [1000, 100, 10, 1], 0)
    assert even(x).flatten().tolist() == [123, 1234, 2340, 3400]


def test_taken_outside_is_zero() -> None:
    x = numbers(1, 2, 3)
    for first, count, expected in (
        (1, 2, [2, 3]), (-1, 3, [0, 1, 2]), (2, 3, [3, 0, 0]), (-1, 5, [0, 1, 2, 3, 0]), (-4, 2, [0, 0]),
        (3, 2, [0, 0]), (7, 1, [0]), (1, 0, []),
    ):  # fmt: skip
        assert taken(x, first, count).flatten().tolist() == expected
    assert taken(x[:, :0], -1, 2).tolist() == [[[0], [0]]]


def framework(convolution: Convolution, x: Tensor, before: int) -> Tensor:
    """The framework's convolution with the same numbers."""
    weight, bias = convolution.product.weight, convolution.product.bias
    kernel = weight.unflatten(1, (convolution.kernel_width, -1)).transpose(1, 2)  # type: ignore[operator]
    padded = functional.pad(x.transpose(1, 2), (before, convolution.span - before))
    return functional.conv1d(padded, kernel, bias, dilation=convolution.dilation).transpose(1, 2)  # type: ignore


SIZES = st.integers(1, 6), st.integers(1, 4), st.integers(1, 4)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(*SIZES)
def test_the_framework_gives_the_same(size: int, kernel: int, dilation: int) -> None:
    x = torch.randn(2, size, 3)
    centred, causal = (kind(3, 4, kernel, dilation) for kind in (Convolution, CausalConvolution))
    expected = framework(centred, x, (kernel - 1) // 2 * dilation)
    torch.testing.assert_close(centred(x), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(causal(x)[0], framework(causal, x, causal.span), rtol=1e-5, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(*SIZES, st.lists(st.integers(1, 3), max_size=4))
def test_in_pieces_or_at_once(size: int, kernel: int, dilation: int, pieces: list[int]) -> None:
    convolution, x = CausalConvolution(3, 4, kernel, dilation), torch.randn(2, size + sum(pieces), 3)
    whole, last = convolution(x)
    past: Past = None
    found = []
    for piece in x.split([*pieces, size], dim=1):
        before = None if past is None else past.clone()
        outputs, later = convolution(piece, past)
        assert before is None or torch.equal(before, past)  # type: ignore[arg-type]
        found.append(outputs)
        past = later
    torch.testing.assert_close(torch.cat(found, dim=1), whole, rtol=1e-5, atol=1e-6)
    assert past is not None and torch.equal(past, last)
    assert past.shape[1] == min(convolution.span, x.shape[1])  # no more than is needed again


def test_rows_of_pasts() -> None:
    chosen = select_rows(
        (None, numbers(1, 2).expand(3, 2, 1) * torch.arange(3)[:, None, None]), torch.tensor([2, 0, 2])
    )
    assert chosen[0] is None and chosen[1] is not None
    assert chosen[1][:, :, 0].tolist() == [[2, 4], [0, 0], [2, 4]]


def test_padding_becomes_zero() -> None:
    x = torch.full((3, 2, 1), math.nan)
    x[0], x[1, 0] = 5, 6
    assert without_padding(x, torch.tensor([2, 1, 0])).flatten().tolist() == [5, 5, 6, 0, 0, 0]


def seen(layers: list[tuple[int, int]], size: int) -> list[int]:
    """Which positions the last one depends on, behind such causal layers, by the gradient."""
    x = torch.zeros(1, size, 1, requires_grad=True)
    y = x
    for kernel, dilation in layers:
        y = with_weights(CausalConvolution(1, 1, kernel, dilation), [1 / kernel] * kernel, 0)(y)[0]
    (gradient,) = torch.autograd.grad(y[0, -1, 0], x)
    return gradient.flatten().nonzero().flatten().tolist()


@pytest.mark.parametrize(("kernel", "count"), [(2, 99), (3, 50)])
def test_layers_that_join_positions_1_and_100(kernel: int, count: int) -> None:
    """A layer of width w sees w - 1 positions more: 99 layers of width 2, and 50 of width 3, see 100 and 101."""
    for layers in (count, count - 1):
        joined = 0 in seen([(kernel, 1)] * layers, 100)
        assert joined is (layers == count)


def test_ten_dilated_layers_join_1024_positions() -> None:
    """Dilations 1, 2, 4 ... 512: log2 1024 = 10 layers of width 2 see 1024 positions and no more."""
    layers = [(2, dilation) for dilation in dilations(10, 10)]
    assert seen(layers, 1025) == list(range(1, 1025))
    assert len(seen(layers[:9], 1025)) == 512


def test_dilations_begin_again() -> None:
    assert dilations(7, 3) == [1, 2, 4, 1, 2, 4, 1]
    assert dilations(2, 5) == [1, 2]


def test_gates_by_hand() -> None:
    # sigmoid(ln 3) = 3/4, tanh(ln 2) = 3/5
    x = torch.tensor([8.0, math.log(2), math.log(3), 0.0])
    torch.testing.assert_close(torch.nn.functional.glu(x), torch.tensor([6.0, math.log(2) / 2]))
    torch.testing.assert_close(gated_tanh(x), torch.tensor([math.tanh(8.0) * 0.75, 0.3]))


def test_weights_normalised_by_hand() -> None:
    layer = NormalisedLinear(2, 1, 1.0)
    with torch.no_grad():
        layer.direction.copy_(torch.tensor([[3.0, 4.0]]))
        layer.gain.fill_(10.0)
        layer.bias.fill_(1.0)
    assert layer.weight().tolist() == [[6, 8]]
    assert layer(torch.tensor([1.0, 2.0])).tolist() == [23]
    layer.direction.detach().mul_(7)  # only where it points counts
    torch.testing.assert_close(layer.weight(), torch.tensor([[6.0, 8.0]]))


def test_normalised_weights_are_the_frameworks() -> None:
    ours = NormalisedLinear(5, 3, 0.2)
    torch.testing.assert_close(ours.weight(), ours.direction)  # at first the gains are the lengths
    assert not ours.bias.any()
    theirs = nn.utils.parametrizations.weight_norm(nn.Linear(5, 3))
    theirs.load_state_dict(
        {
            "parametrizations.weight.original0": 2 * ours.gain[:, None],
            "parametrizations.weight.original1": ours.direction,
            "bias": ours.bias,
        }
    )
    ours.gain.detach().mul_(2)
    x = torch.randn(4, 5)
    torch.testing.assert_close(ours(x), theirs(x))
