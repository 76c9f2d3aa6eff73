"""The gradient formulas: equal to autograd, to finite differences, and to a worked case."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.attention_backward import multi_head_backward, projection_backward
from openwork.nn.distances import Rotary
from openwork.nn.kernels import fused, reference, scale_of
from openwork.nn.kernels.backward import attention_backward, softmax_backward, softmax_jacobian
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask

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
        for ours, theirs in zip((found.query, found.key, found.value, found.scores.sum(0)), expected, strict=False):
            torch.testing.assert_close(ours, theirs.nan_to_num(), **EXACT)


def some_attention(shared: int | None, bias: bool) -> MultiHeadAttention:
    torch.manual_seed(1)
    attention = MultiHeadAttention(5, Heads(4, 2, 3, shared), output_width=6, bias=bias).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return attention


@pytest.mark.slow
@pytest.mark.parametrize("mask", [EVERYTHING, CAUSAL, Mask(torch.tensor([4, 2]))], ids=["all", "causal", "padded"])
@pytest.mark.parametrize(("shared", "bias"), [(None, False), (None, True), (2, False), (1, True)])
def test_the_projections_gradients_are_autograds_and_the_differences(
    mask: Mask, shared: int | None, bias: bool
) -> None:
    attention = some_attention(shared, bias)
    x, memory, gradient = randoms((2, 3, 5), (2, 4, 5), (2, 3, 6))

    def loss() -> Tensor:
        return (attention(x, attention.keys_values(memory), mask) * gradient).sum()

    found = multi_head_backward(attention, x, memory, mask, gradient)
    x.requires_grad_(), memory.requires_grad_()
    loss().backward()
    for name in ("query", "key", "value", "output"):
        ours, theirs = getattr(found, name), getattr(attention, name)
        torch.testing.assert_close(ours.matrix.T, theirs.weight.grad, **EXACT)
        torch.testing.assert_close(ours.matrix.T, differences(loss, theirs.weight), **DIFFERENCES)
        assert (ours.bias is None) is not bias
        if ours.bias is not None:
            torch.testing.assert_close(ours.bias, theirs.bias.grad, **EXACT)
    for ours, tensor in ((found.x, x), (found.memory, memory)):
        torch.testing.assert_close(ours, tensor.grad, **EXACT)
        torch.testing.assert_close(ours, differences(loss, tensor), **DIFFERENCES)


def test_in_self_attention_the_two_gradients_by_x_add_up() -> None:
    attention = some_attention(None, False)
    x, gradient = randoms((2, 4, 5), (2, 4, 6))
    found = multi_head_backward(attention, x, x, CAUSAL, gradient)
    x.requires_grad_()
    attention(x, attention.keys_values(x), CAUSAL).backward(gradient)
    torch.testing.assert_close(found.x + found.memory, x.grad, **EXACT)


def test_padding_gets_no_gradient() -> None:
    attention = some_attention(None, False)
    x, gradient = randoms((2, 4, 5), (2, 4, 6))
    found = multi_head_backward(attention, x, x, Mask(torch.tensor([4, 2])), gradient)
    assert (found.memory[1, 2:] == 0).all() and (found.memory[1, :2] != 0).all()


def test_a_worked_case_in_the_order_of_the_formulas() -> None:
    """One head, width 1, two positions: every product is a number that can be checked on paper."""
    attention = MultiHeadAttention(1, Heads(1, 1, 1)).double()
    for projection, weight in ((attention.query, 0.0), (attention.key, 1.0), (attention.value, 2.0)):
        torch.nn.init.constant_(projection.weight, weight)
    torch.nn.init.constant_(attention.output.weight, 3.0)
    x = torch.tensor([[[1.0], [3.0]]], dtype=torch.float64)
    gradient = torch.tensor([[[1.0], [0.0]]], dtype=torch.float64)
    # W^Q = 0: all scores 0, weights 1/2; K = (1, 3), V = (2, 6), heads 4 and 4
    found = multi_head_backward(attention, x, x, EVERYTHING, gradient)
    assert found.output.matrix.item() == 4  # H^T dY = 4 * 1
    # dH = 3; dV = A^T dH = (1.5, 1.5); dW^V = 1 * 1.5 + 3 * 1.5
    assert found.value.matrix.item() == 6
    # dA = dH V^T = (6, 18); dS = 1/2 * (dA - 12) = (-3, 3); dQ = dS K = 6; dW^Q = 1 * 6
    assert found.query.matrix.item() == 6
    assert found.key.matrix.item() == 0  # dK = dS^T Q, and Q is 0


def test_a_projection_by_hand() -> None:
    projection = torch.nn.Linear(2, 1).double()
    torch.nn.init.constant_(projection.weight, 5.0)
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]], dtype=torch.float64)
    found = projection_backward(projection, x, torch.tensor([[[1.0], [10.0]]], dtype=torch.float64))
    assert found.matrix.tolist() == [[31.0], [42.0]]
    assert found.bias is not None and found.bias.tolist() == [11.0]
    assert found.x.tolist() == [[[5.0, 5.0], [50.0, 50.0]]]


def test_positions_inside_attention_are_refused() -> None:
    attention = MultiHeadAttention(4, Heads(1, 4, 4), distances=Rotary(4))
    x = torch.randn(1, 2, 4)
    with pytest.raises(ValueError, match="Rotary"):
        multi_head_backward(attention, x, x, EVERYTHING, x)
