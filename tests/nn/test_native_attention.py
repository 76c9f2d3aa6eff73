"""The compiled attention of short sentences beside the reference in double precision, forwards and backwards."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from nn.native import instructions  # noqa: F401
from openwork.nn.kernels import fused, native, reference
from openwork.nn.kernels.native import attention
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask

SENTENCES, COUNT = 3, 2
NEAR = {torch.float32: 2e-6, torch.bfloat16: 1.6e-2}  # of the largest number


def heads(positions: int, width: int, seed: int, dtype: torch.dtype) -> Tensor:
    """Head beside head in memory, as a projection leaves them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(SENTENCES, positions, COUNT, width, generator=generator).to(dtype).transpose(1, 2)


def worst(queries: int, keys: int, width: int, mask: Mask, dtype: torch.dtype) -> float:
    given = [heads(size, width, seed, dtype).requires_grad_() for seed, size in enumerate((queries, keys, keys))]
    upstream, scale = heads(queries, width, 9, dtype), width**-0.5
    found = attention.attention(given[0], given[1], given[2], mask, scale)
    assert found.dtype is dtype and found.transpose(1, 2).is_contiguous()
    gradients = torch.autograd.grad(found, given, upstream)
    exact = [x.detach().double().requires_grad_() for x in given]
    expected = reference.attention(exact[0], exact[1], exact[2], mask, scale)
    wanted = torch.autograd.grad(expected, exact, upstream.double())
    both = zip([found, *gradients], [expected, *wanted], strict=True)
    pairs = [(one.detach().double(), other.detach()) for one, other in both]
    return max(float((one - other).abs().max() / other.abs().max().clamp(min=1e-3)) for one, other in pairs)


@pytest.mark.parametrize("dtype", list(NEAR), ids=str)
@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize(
    ("queries", "keys", "width"), [(1, 1, 16), (5, 7, 16), (16, 16, 64), (17, 33, 48), (40, 90, 32)]
)
def test_values_and_gradients_are_the_references(
    queries: int, keys: int, width: int, is_causal: bool, dtype: torch.dtype
) -> None:
    lengths = torch.tensor([keys, 0, (keys + 1) // 2])
    for mask in (Mask(is_causal=is_causal), Mask(lengths, is_causal=is_causal)):
        assert worst(queries, keys, width, mask, dtype) < NEAR[dtype]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 40), st.integers(0, 30), st.lists(st.integers(0, 80), min_size=3, max_size=3), st.booleans())
def test_any_lengths(queries: int, more: int, lengths: list[int], is_causal: bool) -> None:
    assert worst(queries, queries + more, 16, Mask(torch.tensor(lengths), is_causal), torch.float32) < 4e-6


def test_heads_that_share_keys_add_up_their_gradients() -> None:
    query = heads(6, 16, 0, torch.float32).requires_grad_()
    key, value = (heads(6, 16, seed, torch.float32)[:, :1].detach().requires_grad_() for seed in (1, 2))
    shared = key.expand(-1, COUNT, -1, -1), value.expand(-1, COUNT, -1, -1)
    found = torch.autograd.grad(attention.attention(query, *shared, CAUSAL, 0.25).sum(), (query, key, value))
    wanted = torch.autograd.grad(reference.attention(query, *shared, CAUSAL, 0.25).sum(), (query, key, value))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FEWEST", 1)
    made = []
    for threads in (1, 4):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        given = [heads(9, 32, seed, torch.bfloat16).requires_grad_() for seed in range(3)]
        found = attention.attention(given[0], given[1], given[2], EVERYTHING, 0.2)
        made.append([found, *torch.autograd.grad(found.sum(), given)])
    assert all(torch.equal(one, other) for one, other in zip(*made, strict=True))


def test_what_is_no_number_stays_none() -> None:
    query, key, value = (heads(5, 16, seed, torch.float32) for seed in range(3))
    query[1, 0, 3, 2] = torch.nan
    found = attention.attention(query, key, value, EVERYTHING, 1.0)
    assert found[1, 0, 3].isnan().all() and found[:, 1].isfinite().all() and found[[0, 2]].isfinite().all()


def test_it_is_asked_for_short_sentences_alone() -> None:
    short, long, narrow = (heads(size, width, 0, torch.float32) for size, width in ((8, 16), (200, 16), (8, 8)))
    assert attention.takes(short, short, short, CAUSAL)
    assert not attention.takes(long, long, long, CAUSAL) and not attention.takes(narrow, narrow, narrow, CAUSAL)
    assert not attention.takes(short, short, short, Mask(allowed=torch.ones(8, 8, dtype=torch.bool)))
    assert not attention.takes(short, short, short.double(), CAUSAL)
    torch.testing.assert_close(
        fused.attention(short, short, short, CAUSAL, 0.25), reference.attention(short, short, short, CAUSAL, 0.25)
    )
