"""The gradient formulas: equal to autograd, to finite differences, and to a worked case."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from openwork.nn.kernels import fused, reference, scale_of
from openwork.nn.kernels.short import softmax_backward
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask
from openwork.study.studies.scale import softmax_jacobian

EXACT = {"rtol": 0.0, "atol": 1e-11}
STEP, DIFFERENCES = 1e-6, {"rtol": 1e-6, "atol": 1e-8}  # central differences in float64

Sizes = st.integers(1, 4)


def randoms(*shapes: tuple[int, ...], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def differences(loss: Callable[[], Tensor], at: Tensor) -> Tensor:
    """The gradient of a loss by each number of a tensor, by moving it a little up and down."""
    found = torch.empty_like(at)
    numbers, into = at.detach().view(-1), found.view(-1)
    with torch.no_grad():
        for index in range(numbers.numel()):
            before = numbers[index].item()
            numbers[index] = before + STEP
            up = loss()
            numbers[index] = before - STEP
            into[index] = (up - loss()) / (2 * STEP)
            numbers[index] = before
    return found


def attention_backward(
    query: Tensor, key: Tensor, value: Tensor, weights: Tensor, gradient: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients by Q, K, V and the scores, given that by the heads: the chain rule from right to left.

    `weights` are those of the forward pass, so mask and bias are in them already.
    """
    d_scores = softmax_backward(weights, gradient @ value.transpose(-2, -1))
    d_query, d_key = scale * (d_scores @ key), scale * (d_scores.transpose(-2, -1) @ query)
    return d_query, d_key, weights.transpose(-2, -1) @ gradient, d_scores


def test_the_jacobian_of_a_softmax_by_hand() -> None:
    # weights 1/2, 1/4, 1/4: the diagonal a (1 - a), beside it -a_i a_j
    found = softmax_jacobian(torch.tensor([0.5, 0.25, 0.25]))
    expected = [[0.25, -0.125, -0.125], [-0.125, 0.1875, -0.0625], [-0.125, -0.0625, 0.1875]]
    assert found.tolist() == expected


@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 5))
@settings(max_examples=20)
def test_the_jacobian_is_autograds_and_the_short_form_is_its_product(rows: int, keys: int, seed: int) -> None:
    scores, gradient = randoms((rows, keys), (rows, keys), seed=seed)
    jacobian = softmax_jacobian(scores.softmax(-1))
    for row in range(rows):
        whole = torch.autograd.functional.jacobian(lambda one: one.softmax(-1), scores[row])
        torch.testing.assert_close(jacobian[row], whole, **EXACT)
    product = (gradient[:, None] @ jacobian)[:, 0]
    torch.testing.assert_close(softmax_backward(scores.softmax(-1), gradient), product, **EXACT)


def masks(batch: int, keys: int) -> st.SearchStrategy[Mask]:
    """Every kind; lengths of 0 too, whose queries may attend to nothing."""
    lengths = st.lists(st.integers(0, keys), min_size=batch, max_size=batch).map(torch.tensor)
    return st.one_of(st.just(EVERYTHING), st.just(CAUSAL), st.builds(Mask, lengths, st.booleans()))


@pytest.mark.slow
@given(st.data(), Sizes, Sizes, Sizes, Sizes, Sizes, Sizes)
@settings(max_examples=50)
def test_the_kernels_gradients_are_autograds(
    data: st.DataObject, batch: int, heads: int, queries: int, keys: int, width: int, value_width: int
) -> None:
    mask = data.draw(masks(batch, keys))
    shapes = ((heads, queries, width), (heads, keys, width), (heads, keys, value_width), (heads, queries, value_width))
    query, key, value, gradient = randoms(*((batch, *shape) for shape in shapes), seed=data.draw(st.integers(0, 99)))
    bias = randoms((heads, queries, keys))[0] if data.draw(st.booleans()) else None
    scale = scale_of(width)
    inputs = [query, key, value] if bias is None else [query, key, value, bias]
    for tensor in inputs:
        tensor.requires_grad_()
    for kernel in (reference.attention, fused.attention):
        expected = torch.autograd.grad(kernel(query, key, value, mask, scale, bias=bias), inputs, gradient)
        weights = reference.attention_weights(query, key, mask, scale, bias)
        found = attention_backward(query, key, value, weights, gradient, scale)
        for ours, theirs in zip((*found[:3], found[3].sum(0)), expected, strict=False):
            torch.testing.assert_close(ours, theirs.nan_to_num(), **EXACT)
