"""Packed rows: the kernel and its twin, by hand, equal to the formula, and given to the framework as it wants it."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from openwork.nn.distances import LinearBiases
from openwork.nn.kernels import packed, reference
from openwork.nn.masks import Mask, Segments
from openwork.nn.positions import LearnedPositions, NoPositions, NormalisedPositions, SinusoidalPositions

Y, N = True, False


def segments_of(lengths: list[int]) -> Segments:
    """Written out the slow way."""
    starts, places = [0], []
    for length in lengths:
        starts.append(starts[-1] + length)
        places += range(length)
    return Segments(torch.tensor(starts, dtype=torch.int32), torch.tensor(places), max([1, *lengths]))


def heads(positions: int, width: int = 4, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, 2, positions, width, generator=generator, dtype=torch.float64)


def test_each_token_belongs_to_a_sentence_and_an_empty_one_has_none() -> None:
    assert segments_of([2, 1, 0, 3]).numbers.tolist() == [0, 0, 1, 3, 3, 3]


def test_a_query_sees_its_own_sentence_and_of_it_what_is_earlier() -> None:
    row = segments_of([2, 1])
    found = Mask(segments=(row, row)).boolean(3, 3, torch.device("cpu"))
    assert found is not None and found.tolist() == [[[[Y, Y, N], [Y, Y, N], [N, N, Y]]]]
    earlier = Mask(is_causal=True, segments=(row, row))
    found = earlier.boolean(3, 3, torch.device("cpu"))
    assert found is not None and found.tolist() == [[[[Y, N, N], [Y, Y, N], [N, N, Y]]]]
    assert not earlier.is_only_causal
    # one target token of the first sentence, two of the second, over sources of two and one tokens
    across = Mask(segments=(segments_of([1, 2]), row)).boolean(3, 3, torch.device("cpu"))
    assert across is not None and across.tolist() == [[[[Y, Y, N], [N, N, Y], [N, N, Y]]]]


def test_two_sentences_by_hand() -> None:
    # One head, scale 1, queries 1. Sentence 1 has keys 0 and 1 with weights 1/(1+e) and e/(1+e); sentence 2 one key.
    query, key = torch.ones(1, 1, 3, 1), torch.tensor([0.0, 1.0, 5.0]).view(1, 1, 3, 1)
    value = torch.tensor([1.0, 2.0, 7.0]).view(1, 1, 3, 1)
    row = segments_of([2, 1])
    both = (1 + 2 * math.e) / (1 + math.e)
    found = packed.attention(query, key, value, Mask(segments=(row, row)), 1.0)
    torch.testing.assert_close(found.flatten(), torch.tensor([both, both, 7.0]))
    earlier = packed.attention(query, key, value, Mask(is_causal=True, segments=(row, row)), 1.0)
    torch.testing.assert_close(earlier.flatten(), torch.tensor([1.0, both, 7.0]))


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    pairs = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=1, max_size=5))
    return [pair[0] for pair in pairs] + [2], [pair[1] for pair in pairs] + [20]  # on both sides of PLAIN_ATTENTION


def by_the_framework(query: Tensor, key: Tensor, value: Tensor, *others: Any, **options: Any) -> Tensor:
    """Stands in for the GPU's kernel: insists on what that one insists on, then computes sentence by sentence."""
    starts_query, starts_key, longest_query, longest_key = others
    causal = options["window_size"] == (-1, 0)
    assert causal or options["window_size"] == (-1, -1)
    assert starts_query.dtype is torch.int32 and starts_key.dtype is torch.int32
    assert starts_query.shape == starts_key.shape and starts_query[-1] == len(query) and starts_key[-1] == len(key)
    assert int(starts_query.diff().max()) <= longest_query and int(starts_key.diff().max()) <= longest_key
    found = []
    for place in range(len(starts_query) - 1):
        mine = slice(int(starts_query[place]), int(starts_query[place + 1]))
        theirs = slice(int(starts_key[place]), int(starts_key[place + 1]))
        asked = [x.transpose(0, 1)[None] for x in (query[mine], key[theirs], value[theirs])]
        found.append(
            reference.attention(asked[0], asked[1], asked[2], Mask(is_causal=causal), options["scale"])[0].transpose(
                0, 1
            )
        )
    return torch.cat(found)


@pytest.mark.slow
@settings(max_examples=40)
@given(rows(), st.booleans())
def test_kernel_and_twin_are_the_formula(lengths: tuple[list[int], list[int]], causal: bool) -> None:
    queries, keys = (segments_of(lengths[side and not causal]) for side in (0, 1))
    mask = Mask(is_causal=causal, segments=(queries, keys))
    inputs = [heads(len(side.places), seed=seed).requires_grad_() for seed, side in enumerate((queries, keys, keys))]
    query, key, value = inputs
    expected = reference.attention(query, key, value, mask, 0.4)
    weights = heads(len(queries.places), seed=9)
    wanted = torch.autograd.grad((expected * weights).sum(), inputs)
    patch = pytest.MonkeyPatch()
    patch.setattr("torch.nn.attention.varlen.varlen_attn", by_the_framework)
    for way in (packed.of_rectangles, packed.of_various_lengths, packed.attention):
        found = way(query, key, value, mask, 0.4)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        for ours, right in zip(torch.autograd.grad((found * weights).sum(), inputs), wanted, strict=True):
            torch.testing.assert_close(ours, right, rtol=0, atol=1e-12)
    patch.undo()


def test_the_framework_takes_what_it_is_given() -> None:
    # Its kernel is for GPUs; without numbers, its own rules of types and shapes can be asked on any machine.
    meta = torch.device("meta")
    query, key, value = (torch.empty(1, 2, n, 8, device=meta, dtype=torch.bfloat16).requires_grad_() for n in (7, 9, 9))
    starts = torch.empty(3, device=meta, dtype=torch.int32)
    sides = Segments(starts, torch.empty(7, device=meta), 5), Segments(starts, torch.empty(9, device=meta), 6)
    for causal in (False, True):
        found = packed.of_various_lengths(query, key, value, Mask(is_causal=causal, segments=sides), 0.35)
        assert found.shape == query.shape and found.dtype is torch.bfloat16
        found.float().sum().backward()
        assert query.grad is not None and query.grad.shape == query.shape


def test_it_is_the_gpu_s_kernel_that_computes_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    row = segments_of([2, 1])
    mask, called = Mask(segments=(row, row)), []
    monkeypatch.setattr(packed, "is_supported", lambda device: True)
    monkeypatch.setattr(packed, "of_various_lengths", lambda query, *_: called.append(query.dtype) or query)
    half = heads(3, 8).to(torch.bfloat16)
    packed.attention(half, half, half, mask, 0.3)
    assert called == [torch.bfloat16]
    wide, odd = heads(3, 8).float(), heads(3, 4).to(torch.bfloat16)
    packed.attention(wide, wide, wide, mask, 0.3)  # float32
    packed.attention(odd, odd, odd, mask, 0.3)  # four numbers a head
    packed.attention(half, half, heads(3, 16).to(torch.bfloat16), mask, 0.3)  # wider values
    packed.attention(half, half, half, mask, 0.3, dropout=0.5)
    packed.attention(half, half, half, Mask(), 0.3)  # no packed row
    packed.attention(half, half, half, mask, 0.3, bias=torch.zeros(2, 3, 3))
    assert called == [torch.bfloat16]


def test_biases_of_distances_are_right_in_a_packed_row_too() -> None:
    row, x = segments_of([3, 4]), heads(7)
    bias = LinearBiases(2).bias(x, 7, 0.5)
    found = packed.attention(x, x, x, Mask(segments=(row, row)), 0.5, bias=bias)
    for part, size in ((slice(0, 3), 3), (slice(3, 7), 4)):
        alone = x[:, :, part]
        expected = reference.attention(alone, alone, alone, Mask(), 0.5, bias=LinearBiases(2).bias(alone, size, 0.5))
        torch.testing.assert_close(found[:, :, part], expected)


def test_another_condition_is_refused() -> None:
    row, x = segments_of([2, 1]), heads(3)
    for mask in (Mask(torch.tensor([2]), segments=(row, row)), Mask(allowed=torch.ones(3, 3) > 0, segments=(row, row))):
        with pytest.raises(ValueError, match="no other condition"):
            packed.attention(x, x, x, mask, 1.0)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "none", "normalised"])
def test_positions_begin_anew_with_each_sentence(kind: str) -> None:
    positions = {
        "sinusoidal": SinusoidalPositions(6, size=2),  # must grow
        "learned": LearnedPositions(6, 4),
        "none": NoPositions(),
        "normalised": NormalisedPositions(LearnedPositions(6, 4), torch.nn.LayerNorm(6)),
    }[kind]
    x = torch.randn(1, 7, 6)
    found = positions.along(x, segments_of([3, 0, 4]))
    torch.testing.assert_close(found, torch.cat((positions(x[:, :3]), positions(x[:, 3:])), dim=1))
