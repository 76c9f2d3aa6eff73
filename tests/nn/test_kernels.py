"""Attention: an example worked by hand, and every kernel equal to the formula and to the framework's own."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask

KERNELS: dict[str, Kernel] = {"reference": reference.attention, "fused": fused.attention}
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12, torch.bfloat16: 3e-2}
LONG = math.isqrt(fused.PLAIN_ATTENTION) + 1  # so many queries and keys go to the framework's kernel


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]


def heads(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def test_weights_of_one_and_e_over_one_plus_e(kernel: Kernel) -> None:
    # One head of width 1, scale 1, queries 1 and 1, keys 0 and 1, causal.
    # Query 0 sees key 0 alone: weight 1.  Query 1: scores 0 and 1, weights 1/(1+e) and e/(1+e).
    one = torch.ones(1, 1, 2, 1)
    key = torch.tensor([0.0, 1.0]).view(1, 1, 2, 1)
    value = torch.tensor([[10.0, 0.0], [0.0, 10.0]]).view(1, 1, 2, 2)
    e = math.e
    expected = torch.tensor([[1.0, 0.0], [1 / (1 + e), e / (1 + e)]]).view(1, 1, 2, 2)
    torch.testing.assert_close(reference.attention_weights(one, key, CAUSAL, 1.0), expected)
    torch.testing.assert_close(kernel(one, key, value, CAUSAL, 1.0), 10 * expected)


def test_the_scale_divides_by_the_root_of_the_width(kernel: Kernel) -> None:
    # d_k = 4, q = (1, 1, 1, 1), keys (2, 2, 2, 2) and 0: scores 8 / sqrt(4) = 4 and 0, weights s and 1 - s.
    query, zero = torch.ones(1, 1, 1, 4), torch.zeros(1, 1, 1, 4)
    found = kernel(query, torch.cat((2 * query, zero), 2), torch.eye(2)[None, None], EVERYTHING, 4**-0.5)
    s = 1 / (1 + math.exp(-4))
    torch.testing.assert_close(found, torch.tensor([[[[s, 1 - s]]]]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], Mask]:
    size = st.one_of(st.integers(1, 9), st.integers(LONG - 1, LONG + 6))  # on both sides of SHORT
    batch, head, queries, keys = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(size), draw(size)
    lengths = draw(st.none() | st.lists(st.integers(0, keys), min_size=batch, max_size=batch))
    mask = Mask(None if lengths is None else torch.tensor(lengths), draw(st.booleans()))
    return [batch, head, queries, keys, draw(st.sampled_from([1, 5, 8])), draw(st.sampled_from([3, 8]))], mask


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@settings(max_examples=60)
@given(cases())
def test_the_kernels_agree(dtype: torch.dtype, case: tuple[list[int], Mask]) -> None:
    (batch, head, queries, keys, head_width, value_width), mask = case
    query = heads(batch, head, queries, head_width, dtype=dtype, seed=1)
    key = heads(batch, head, keys, head_width, dtype=dtype, seed=2)
    value = heads(batch, head, keys, value_width, dtype=dtype, seed=3)
    scale = head_width**-0.5
    exact = reference.attention(query.double(), key.double(), value.double(), mask, scale)
    allowed = mask.boolean(queries, keys, query.device)
    framework = scaled_dot_product_attention(
        query.double(), key.double(), value.double(), None if allowed is None else allowed, scale=scale
    )
    if allowed is not None:  # rows of nothing are ours to define
        framework = framework.masked_fill(~allowed.any(-1, keepdim=True), 0.0)
    torch.testing.assert_close(exact, framework, rtol=0, atol=1e-12)
    for kernel in KERNELS.values():
        found = kernel(query, key, value, mask, scale)
        assert found.dtype is dtype and found.shape == (batch, head, queries, value_width)
        # a score of 15 in bfloat16 is off by up to 0.03; the fused kernel computes in float32 inside
        coarse = dtype is torch.bfloat16 and kernel is reference.attention
        torch.testing.assert_close(found.double(), exact, rtol=0, atol=0.3 if coarse else TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 3, 0), (2, 3, 0)], ids=["heads", "one sentence", "all"])
@pytest.mark.parametrize("mask", [EVERYTHING, CAUSAL, Mask(torch.tensor([4, 0]), is_causal=True)], ids=str)
@pytest.mark.parametrize("size", [5, LONG])
def test_a_bias_is_added_to_the_scores(kernel: Kernel, shape: tuple[int, int, int], mask: Mask, size: int) -> None:
    query, key, value = (heads(2, 3, size, 4, seed=seed) for seed in range(3))
    bias = heads(*(axis for axis in shape[:2] if axis), size, size, seed=9) if shape[2] == 0 else heads(3, size, size)
    allowed = mask.boolean(size, size, query.device)
    scores = query @ key.transpose(-2, -1) / 2 + bias
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -1e30)
        value = value * allowed.any(dim=-1).any(dim=-1)[..., None, None]  # a sentence of nothing gives zeros
    torch.testing.assert_close(kernel(query, key, value, mask, 0.5, bias=bias), scores.softmax(-1) @ value)
    without = kernel(query, key, value, mask, 0.5)
    assert not torch.allclose(kernel(query, key, value, mask, 0.5, bias=bias), without, atol=1e-3)


@pytest.mark.parametrize("size", [3, LONG])
def test_a_bias_is_learnt_and_rows_of_nothing_stay_finite(size: int) -> None:
    gradients = []
    for kernel in KERNELS.values():
        inputs = [heads(2, 3, size, 5, seed=seed).requires_grad_() for seed in range(3)]
        bias = heads(2, 3, size, size, seed=4).requires_grad_()
        found = kernel(*inputs, Mask(torch.tensor([0, size - 1])), 5**-0.5, bias=bias)
        assert not found[0].any()
        (found**2).sum().backward()
        gradients.append([tensor.grad for tensor in (*inputs, bias)])
        assert all(g is not None and bool(g.isfinite().all()) and not g[0].any() for g in gradients[-1])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("size", [3, LONG])
def test_a_bias_leaves_the_type_of_the_result(kernel: Kernel, dtype: torch.dtype, size: int) -> None:
    inputs = [heads(1, 2, size, 4, dtype=dtype, seed=seed) for seed in range(3)]
    bias = heads(2, size, size)  # float32, as the linear biases are
    found = kernel(*inputs, CAUSAL, 0.5, bias=bias)
    assert found.dtype is dtype
    exact = reference.attention(*(x.double() for x in inputs), CAUSAL, 0.5, bias=bias.double())
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=0.1 if dtype is torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("size", [3, LONG])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_a_query_that_may_attend_to_nothing_gets_zeros(kernel: Kernel, size: int, dtype: torch.dtype) -> None:
    inputs = [heads(2, 2, size, 8, dtype=dtype, seed=seed).requires_grad_() for seed in range(3)]
    found = kernel(*inputs, Mask(torch.tensor([0, size - 1])), 8**-0.5)
    assert not found[0].any() and bool(found[1].all())
    found.sum().backward()
    for tensor in inputs:
        assert tensor.grad is not None and bool(tensor.grad.isfinite().all())
        assert not tensor.grad[0].any()  # nothing was read, so nothing can change
    assert inputs[2].grad is not None and not inputs[2].grad[1, :, -1].any()  # the padding of the other sentence


@pytest.mark.parametrize("size", [3, LONG])
@pytest.mark.parametrize("mask", [EVERYTHING, CAUSAL], ids=["everything", "causal"])
def test_the_gradients_agree(size: int, mask: Mask) -> None:
    gradients = []
    for kernel in KERNELS.values():
        inputs = [heads(2, 3, size, 5, seed=seed).requires_grad_() for seed in range(3)]
        (kernel(*inputs, mask, 5**-0.5) ** 2).sum().backward()
        gradients.append([tensor.grad for tensor in inputs])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [3, LONG])
def test_dropped_weights_leave_the_expectation(kernel: Kernel, size: int) -> None:
    # All keys alike, so each weight is 1/size; with rate 0.25 the sum over keys is a mean of 0 and 4/3.
    torch.manual_seed(0)
    x = torch.zeros(1, 400, size, 4)
    found = kernel(x, x, torch.ones_like(x), EVERYTHING, 1.0, 0.25)
    assert found.std() > 0.01
    assert found[..., 0].mean().item() == pytest.approx(1.0, abs=0.05)
