"""Multi-head attention: equal to the framework's, with free widths."""

import pytest
import torch
from torch import nn

from nn.framework import copy_attention, disturb
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kernel", [reference.attention, fused.attention], ids=["reference", "fused"])
def test_it_is_the_frameworks(bias: bool, kernel: Kernel) -> None:
    torch.manual_seed(0)
    width, heads = 12, 3
    ours = MultiHeadAttention(width, Heads(heads, 4, 4), bias=bias, kernel=kernel)
    disturb(ours)
    theirs = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True)
    copy_attention(ours, theirs)
    x, memory = torch.randn(2, 5, width), torch.randn(2, 7, width)
    lengths = torch.tensor([7, 4])
    hidden = torch.arange(7)[None] >= lengths[:, None]  # True means *ignored* there
    expected, _ = theirs(x, memory, memory, key_padding_mask=hidden)
    torch.testing.assert_close(ours(x, ours.keys_values(memory), Mask(lengths)), expected)
    later = torch.ones(5, 5).triu(1).bool()
    expected, _ = theirs(x, x, x, attn_mask=later)
    torch.testing.assert_close(ours(x, ours.keys_values(x), CAUSAL), expected)


def test_every_width_is_free() -> None:
    # distinct primes: no two axes can be swapped unnoticed
    batch, queries, keys, width, heads, head_width, value_width = 2, 3, 5, 13, 7, 11, 17
    attention = MultiHeadAttention(width, Heads(heads, head_width, value_width))
    asked = attention.keys_values(torch.randn(batch, keys, width))
    assert asked.key.shape == (batch, heads, keys, head_width)
    assert asked.value.shape == (batch, heads, keys, value_width)
    assert asked.size == keys
    assert attention(torch.randn(batch, queries, width), asked, EVERYTHING).shape == (batch, queries, width)
    assert attention.scale == head_width**-0.5
    # W^Q, W^K: 13 x 77 each; W^V: 13 x 119; W^O: 119 x 13
    assert sum(p.numel() for p in attention.parameters()) == 2 * 13 * 77 + 2 * 13 * 119


def test_each_head_is_the_formula() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(6, Heads(2, 3, 5))
    x = torch.randn(1, 4, 6)
    found = []
    for h in range(2):
        q = x[0] @ attention.query.weight[3 * h : 3 * h + 3].T
        k = x[0] @ attention.key.weight[3 * h : 3 * h + 3].T
        v = x[0] @ attention.value.weight[5 * h : 5 * h + 5].T
        found.append((q @ k.T / 3**0.5).softmax(-1) @ v)
    expected = torch.cat(found, -1) @ attention.output.weight.T
    torch.testing.assert_close(attention(x, attention.keys_values(x), EVERYTHING)[0], expected)


def test_keys_and_values_grow_and_are_selected_by_value() -> None:
    attention = MultiHeadAttention(6, Heads(2, 3, 5))
    x = torch.randn(3, 4, 6)
    first, rest = attention.keys_values(x[:, :1]), attention.keys_values(x[:, 1:])
    whole = attention.keys_values(x)
    grown = first.extend(rest)
    torch.testing.assert_close(grown.key, whole.key)
    torch.testing.assert_close(grown.value, whole.value)
    assert first.size == 1  # the old one is as it was
    chosen = whole.select(torch.tensor([2, 2]))
    assert torch.equal(chosen.key, whole.key[[2, 2]]) and torch.equal(chosen.value, whole.value[[2, 2]])


@pytest.mark.parametrize("shared", [1, 2])
@pytest.mark.parametrize("kernel", [reference.attention, fused.attention], ids=["reference", "fused"])
@pytest.mark.parametrize("size", [4, 20])
def test_grouped_queries_are_heads_whose_keys_and_values_repeat(shared: int, kernel: Kernel, size: int) -> None:
    torch.manual_seed(0)
    grouped = MultiHeadAttention(12, Heads(4, 3, 5, shared), kernel=kernel)
    plain = MultiHeadAttention(12, Heads(4, 3, 5), kernel=kernel)
    for ours, theirs, width in ((grouped.key, plain.key, 3), (grouped.value, plain.value, 5)):
        each = ours.weight.detach().unflatten(0, (shared, width))
        theirs.weight.detach().copy_(each.repeat_interleave(4 // shared, dim=0).flatten(0, 1))
    for name in ("query", "output"):
        getattr(plain, name).load_state_dict(getattr(grouped, name).state_dict())
    x = torch.randn(2, size, 12)
    asked = grouped.keys_values(x)
    assert asked.key.shape[1] == asked.value.shape[1] == shared  # what a cache holds is smaller by so much
    expected = plain(x, plain.keys_values(x), CAUSAL)
    torch.testing.assert_close(grouped(x, asked, CAUSAL), expected)
    assert grouped.key.weight.shape == (3 * shared, 12) and grouped.value.weight.shape == (5 * shared, 12)


def test_what_goes_out_may_have_another_width() -> None:
    attention = MultiHeadAttention(6, Heads(2, 3, 5), output_width=11)
    x = torch.randn(1, 4, 6)
    assert attention(x, attention.keys_values(x), EVERYTHING).shape == (1, 4, 11)


def test_weights_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(6, Heads(2, 3, 3), weight_dropout=0.5)
    x = torch.randn(1, 4, 6)

    def once() -> torch.Tensor:
        return attention(x, attention.keys_values(x), EVERYTHING)

    assert not torch.equal(once(), once())
    attention.eval()
    assert torch.equal(once(), once())
