"""Positions inside attention: each against its formula written out, and steps with a cache as rows of the whole."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.distances import (
    BucketedBiases,
    Distances,
    LinearBiases,
    NoDistances,
    RelativeKeys,
    Rotary,
    offsets,
    slopes,
)
from openwork.nn.kernels import fused, reference
from openwork.nn.masks import CAUSAL, EVERYTHING

HEADS, WIDTH = 3, 4
KINDS: dict[str, Distances] = {
    "rotary": Rotary(WIDTH),
    "alibi": LinearBiases(HEADS),
    "relative": RelativeKeys(WIDTH, 2),
    "bucketed": BucketedBiases(HEADS, 8, 6, both_ways=False),
    "bucketed, both ways": BucketedBiases(HEADS, 8, 6, both_ways=True),
}


def heads(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_offsets_by_hand() -> None:
    assert offsets(3, 3).tolist() == [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]
    assert offsets(1, 3).tolist() == [[-2, -1, 0]]  # one query after two earlier keys


def test_rotary_by_hand() -> None:
    # width 4: the pairs turn by 1 and by 1 / 10000^(2/4) = 0.01 a position; (1, 0) becomes (cos, sin)
    turned = Rotary(4).rotate(torch.tensor([1.0, 0.0, 0.0, 2.0]).expand(1, 1, 2, 4), 1)[0, 0]
    for row, position in zip(turned, (1, 2), strict=True):
        a, b = position, 0.01 * position
        expected = [math.cos(a), math.sin(a), -2 * math.sin(b), 2 * math.cos(b)]
        torch.testing.assert_close(row, torch.tensor(expected))


@given(st.integers(0, 600), st.integers(0, 600), st.integers(0, 99))
def test_rotary_products_know_only_the_distance(position: int, distance: int, seed: int) -> None:
    rotary, (q, k) = Rotary(8), heads(2, 1, 1, 1, 8, seed=seed).unbind(0)
    here = (rotary.rotate(q, position) * rotary.rotate(k, position + distance)).sum()
    start = (rotary.rotate(q, 0) * rotary.rotate(k, distance)).sum()
    torch.testing.assert_close(here, start, rtol=0, atol=2e-4)
    assert torch.equal(rotary.rotate(q, 0), q)
    torch.testing.assert_close(rotary.rotate(q, position).norm(), q.norm())


def test_rotary_keeps_the_type_and_computes_in_float32() -> None:
    x = heads(1, 1, 1, 8).bfloat16()
    far = Rotary(8).rotate(x, 4000)
    assert far.dtype is torch.bfloat16
    assert torch.equal(far, Rotary(8).rotate(x.float(), 4000).bfloat16())


def test_slopes_of_the_paper() -> None:
    assert slopes(8) == [2.0**-power for power in range(1, 9)]
    assert slopes(16)[:2] == pytest.approx([2**-0.5, 2**-1])
    assert slopes(1) == [2.0**-8]
    # 12 heads: those of 8, then every other one of 16
    assert slopes(12) == pytest.approx([2.0**-n for n in range(1, 9)] + [2.0**-n for n in (0.5, 1.5, 2.5, 3.5)])
    assert all(len(slopes(count)) == len(set(slopes(count))) == count for count in range(1, 40))


def test_alibi_by_hand() -> None:
    bias = LinearBiases(2).bias(torch.zeros(1, 2, 2, 4), 3, 1.0)
    # two heads: slopes 1/16 and 1/256; the queries stand at keys 1 and 2
    distance = torch.tensor([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    assert bias is not None
    torch.testing.assert_close(bias, torch.stack([-distance / 16, -distance / 256]))


def test_relative_keys_are_the_formula() -> None:
    # e_ij = q_i (k_j + a_clip(j - i))^T / sqrt(d), Shaw et al. 2018, equation 4
    relative, size, scale = RelativeKeys(WIDTH, 2), 5, WIDTH**-0.5
    q, k = heads(2, 1, HEADS, size, WIDTH).unbind(0)
    bias = relative.bias(q, size, scale)
    assert bias is not None
    found = q @ k.transpose(-2, -1) * scale + bias
    for i in range(size):
        for j in range(size):
            vector = relative.table.weight[max(-2, min(2, j - i)) + 2]
            torch.testing.assert_close(found[0, :, i, j], (q[0, :, i] * (k[0, :, j] + vector)).sum(-1) * scale)


def test_relative_keys_see_no_difference_beyond_k() -> None:
    bias = RelativeKeys(WIDTH, 2).bias(heads(1, 1, 1, WIDTH).expand(1, 1, 9, WIDTH), 9, 1.0)
    assert bias is not None
    assert torch.equal(bias[0, 0, 8, :7], bias[0, 0, 8, :1].expand(7))  # distances 8 to 2
    assert bias[0, 0, 8].unique().numel() == 3 and bias.unique().numel() == 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("past", [1, 3])
def test_steps_are_rows_of_the_whole(kind: str, past: int) -> None:
    distances, size = KINDS[kind], 6
    query = heads(2, HEADS, size, WIDTH)
    whole, later = distances.bias(query, size, 0.5), distances.bias(query[..., past:, :], size, 0.5)
    assert (whole is None) == (later is None)
    if whole is not None and later is not None:
        torch.testing.assert_close(later, whole[..., past:, :])
    torch.testing.assert_close(distances.rotate(query[..., past:, :], past), distances.rotate(query, 0)[..., past:, :])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [5, 20])
def test_attention_knows_the_order_with_each_kernel(kind: str, size: int) -> None:
    torch.manual_seed(1)
    x = heads(1, size, 12)
    swapped = x.clone()
    swapped[:, [-2, -4]] = x[:, [-4, -2]]  # near enough for a clipping distance of 2

    def last(values: Tensor, distances: Distances, kernel=fused.attention) -> Tensor:
        torch.manual_seed(2)
        attention = MultiHeadAttention(12, Heads(HEADS, WIDTH, WIDTH), kernel=kernel, distances=distances)
        return attention(values, attention.keys_values(values), CAUSAL)[:, -1]

    with torch.no_grad():
        torch.testing.assert_close(last(x, NoDistances()), last(swapped, NoDistances()))
        assert not torch.allclose(last(x, KINDS[kind]), last(swapped, KINDS[kind]), atol=1e-4)
        torch.testing.assert_close(last(x, KINDS[kind]), last(x, KINDS[kind], reference.attention))


@pytest.mark.parametrize("kind", KINDS)
def test_attention_in_steps_is_attention_at_once(kind: str) -> None:
    attention = MultiHeadAttention(12, Heads(HEADS, WIDTH, 5), distances=KINDS[kind])
    x = heads(2, 7, 12)
    whole = attention(x, attention.keys_values(x), CAUSAL)
    past = attention.keys_values(x[:, :3])
    past = past.extend(attention.keys_values(x[:, 3:], past.size))
    torch.testing.assert_close(attention(x[:, 3:], past, CAUSAL), whole[:, 3:])
    turned = MultiHeadAttention(12, Heads(HEADS, WIDTH, 5), distances=NoDistances())
    turned.load_state_dict(attention.state_dict(), strict=False)
    assert not torch.allclose(turned(x, turned.keys_values(x), EVERYTHING), attention(x, past, EVERYTHING), atol=1e-3)


@pytest.mark.parametrize(
    ("both_ways", "expected"),
    [
        # 16 buckets a side, 8 of them for one distance each; at twice the distance come two buckets more
        (True, {0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -16: 10, -32: 12, -64: 14, -128: 15, -999: 15, 1: 17}),
        # 32 buckets, 16 of them for one distance each, and nothing for later keys
        (False, {0: 0, -1: 1, -15: 15, -16: 16, -32: 21, -64: 26, -128: 31, -999: 31, 1: 0, 9: 0}),
    ],
)
def test_buckets_by_hand(both_ways: bool, expected: dict[int, int]) -> None:
    biases = BucketedBiases(2, 32, 128, both_ways=both_ways)
    assert biases.bucket(torch.tensor([[*expected]])).tolist() == [[*expected.values()]]
    added = biases.bias(torch.zeros(1, 2, 3, 4), 3, 1.0)
    assert added[1, 2, 0] == biases.table.weight[2, 1]  # the head's number for two back
