"""Attention of short sequences in bfloat16: forwards and backwards the reference's numbers, up to its rounding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from openwork.nn.kernels import fused, reference, short
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask


def heads(batch: int, head: int, positions: int, width: int, seed: int) -> Tensor:
    """Numbers of bfloat16, head beside head in memory, as a projection leaves them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, positions, head, width, generator=generator).to(torch.bfloat16).transpose(1, 2)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, Mask]:
    queries, keys = draw(st.integers(1, 35)), draw(st.integers(1, 35))
    lengths = draw(st.none() | st.lists(st.integers(0, keys), min_size=2, max_size=2))
    return queries, keys, Mask(None if lengths is None else torch.tensor(lengths), draw(st.booleans()))


@pytest.mark.slow
@settings(max_examples=60)
@given(cases())
def test_value_and_gradients_are_the_references(case: tuple[int, int, Mask]) -> None:
    queries, keys, mask = case
    inputs = [heads(2, 3, size, 8, seed).requires_grad_() for seed, size in enumerate((queries, keys, keys))]
    exact = [x.detach().double().requires_grad_() for x in inputs]
    upstream = heads(2, 3, queries, 8, 9)
    found = short.attention(*inputs, mask.boolean(queries, keys, upstream.device), 8**-0.5)
    expected = reference.attention(*exact, mask, 8**-0.5)
    assert found.dtype is torch.bfloat16
    torch.testing.assert_close(found.double(), expected, rtol=0.01, atol=0.02)
    ours = torch.autograd.grad(found, inputs, upstream)
    theirs = torch.autograd.grad(expected, exact, upstream.double())
    for mine, right in zip(ours, theirs, strict=True):
        assert (mine.double() - right).norm() <= 0.02 * right.norm() + 0.004 * upstream.double().norm()


def test_the_result_lies_as_the_next_projection_wants_it() -> None:
    found = short.attention(*(heads(2, 4, 5, 8, seed) for seed in range(3)), None, 1.0)
    assert found.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("mask", [EVERYTHING, CAUSAL], ids=["all", "causal"])
def test_who_is_asked_does_not_matter_to_the_caller(mask: Mask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same call with and without this kernel."""
    query, key, value = (heads(2, 2, 20, 8, seed) for seed in range(3))  # too narrow for the compiled kernel
    found = fused.attention(query, key, value, mask, 0.25)
    monkeypatch.setattr(short, "BFLOAT16_ATTENTION", 0)
    other = fused.attention(query, key, value, mask, 0.25)
    assert not torch.equal(found, other)  # another way it was
    torch.testing.assert_close(found, other, rtol=0.02, atol=0.02)


def test_what_it_cannot_do_goes_another_way() -> None:
    query = heads(1, 1, 4, 8, 0)
    assert short.is_short(query, query, None, 0.0)
    assert not short.is_short(query.float(), query.float(), None, 0.0)
    assert not short.is_short(query, query, torch.zeros(1, 1, 4, 4), 0.0)
    assert not short.is_short(query, query, None, 0.1)
    assert not short.is_short(heads(1, 1, 400, 8, 0), heads(1, 1, 400, 8, 0), None, 0.0)
