"""Multi-head attention: equal to the framework's, with free widths."""

import pytest
import torch
from torch import nn

from nn.framework import copy_attention, disturb
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kernel", [reference.attention, fused.attention], ids=["reference", "fused"])
def test_it_is_the_frameworks(bias: bool, kernel: Kernel) -> None:
    torch.manual_seed(0)
    width, heads = 12, 3
    ours = MultiHeadAttention(width, heads, 4, 4, bias=bias, kernel=kernel)
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
    attention = MultiHeadAttention(width, heads, head_width, value_width)
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
    attention = MultiHeadAttention(6, 2, 3, 5)
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
    attention = MultiHeadAttention(6, 2, 3, 5)
    x = torch.randn(3, 4, 6)
    first, rest = attention.keys_values(x[:, :1]), attention.keys_values(x[:, 1:])
    whole = attention.keys_values(x)
    grown = first.extend(rest)
    torch.testing.assert_close(grown.key, whole.key)
    torch.testing.assert_close(grown.value, whole.value)
    assert first.size == 1  # the old one is as it was
    chosen = whole.select(torch.tensor([2, 2]))
    assert torch.equal(chosen.key, whole.key[[2, 2]]) and torch.equal(chosen.value, whole.value[[2, 2]])


def test_weights_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(6, 2, 3, 3, weight_dropout=0.5)
    x = torch.randn(1, 4, 6)

    def once() -> torch.Tensor:
        return attention(x, attention.keys_values(x), EVERYTHING)

    assert not torch.equal(once(), once())
    attention.eval()
    assert torch.equal(once(), once())
