"""Attention to long texts: each kernel equal to the dense reference with the same mask, and each mask to its paper."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from openwork.nn.attention import Heads
from openwork.nn.kernels import Kernel, fused, linear, reference, sparse
from openwork.nn.kernels.chunked import ChunkedKernel
from openwork.nn.low_rank_attention import LowRankAttention
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask
from openwork.nn.patterns import BigBird, Pattern, SlidingWindow, scrambled

MASKS: dict[str, Mask] = {
    "everything": EVERYTHING,
    "causal": CAUSAL,
    "padded": Mask(torch.tensor([23, 9, 0])),
    "causal and padded": Mask(torch.tensor([23, 9, 0]), is_causal=True),
    "padded on the left": Mask(is_causal=True, key_starts=torch.tensor([0, 7, 20])),
}
PATTERNS: dict[str, Pattern] = {
    "window": SlidingWindow(3),
    "window, global": SlidingWindow(4, global_tokens=2),
    "window of the own position": SlidingWindow(1, global_tokens=9),
    "blocks": BigBird(4, 1, global_tokens=4, random=2, seed=3),
    "blocks, no window": BigBird(2, 0, global_tokens=3, random=1),
    "one block": BigBird(64, 1, random=2),
}
SIZE = 23


def heads(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_gradients(kernel: Kernel, mask: Mask, queries: int = SIZE, **options: Any) -> list[Tensor]:
    """Outputs, and the gradients by query, key and value of a sum that weighs each output differently."""
    inputs = [heads(3, 2, size, 5, seed=seed).requires_grad_() for seed, size in enumerate((queries, SIZE, SIZE))]
    found = kernel(*inputs, mask, 0.4, **options)
    (found * heads(*found.shape, seed=9)).sum().backward()
    return [found.detach(), *(one.grad for one in inputs if one.grad is not None)]


def same(found: list[Tensor], expected: list[Tensor]) -> None:
    assert len(found) == len(expected) == 4
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [1, 4, 7, 64])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_chunks_give_the_whole(mask: Mask, size: int) -> None:
    same(with_gradients(ChunkedKernel(size), mask), with_gradients(reference.attention, mask))


@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_chunks_of_the_last_queries(mask: Mask, queries: int) -> None:
    same(with_gradients(ChunkedKernel(4), mask, queries), with_gradients(reference.attention, mask, queries))


def test_chunks_of_more_queries_than_keys() -> None:
    same(
        with_gradients(ChunkedKernel(4), MASKS["padded"], 31),
        with_gradients(reference.attention, MASKS["padded"], 31),
    )


class Largest(TorchDispatchMode):
    """A context that notes how many numbers the largest tensor has, backward pass included."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.numbers = max([self.numbers, *(x.numel() for x in tree_leaves(made) if isinstance(x, Tensor))])
        return made


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kernel", ["chunked", "window", "blocks", "linear"])
def test_no_tensor_grows_with_the_square_of_the_length(kernel: str, causal: bool) -> None:
    ways: dict[str, tuple[Kernel, Pattern | None]] = {
        "chunked": (ChunkedKernel(16), None),
        "window": (sparse.attention, SlidingWindow(8, global_tokens=1)),
        "blocks": (sparse.attention, BigBird(4, 1, global_tokens=4, random=2)),
        "linear": (partial(fused.attention, weight_function=linear.weights), None),
    }
    compute, pattern = ways[kernel]
    found = []
    for size in (128, 512):
        inputs = [heads(1, 1, size, 4, seed=seed).requires_grad_() for seed in range(3)]
        with Largest() as largest:
            compute(*inputs, Mask(is_causal=causal, pattern=pattern), 0.5).sum().backward()
        found.append(largest.numbers)
    assert found[1] <= 4 * found[0]


@pytest.mark.parametrize("size", [1, 5, 64])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_sums_give_the_quadratic_form(mask: Mask, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "CHUNK", size)
    options = {"weight_function": linear.weights}
    same(with_gradients(fused.attention, mask, **options), with_gradients(reference.attention, mask, **options))


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_is_its_equation(causal: bool) -> None:
    """Equation 4 and, with sums over earlier keys, 8 of Katharopoulos et al. 2020, by loops over single numbers."""
    query, key, value = (heads(1, 1, 6, 3, seed=seed) for seed in range(3))
    found = linear.attention(query, key, value, Mask(is_causal=causal))[0, 0]

    def phi(x: float) -> float:
        return x + 1 if x > 0 else math.exp(x)

    rows = [[[phi(float(x)) for x in row] for row in one[0, 0]] for one in (query, key)]
    for i in range(6):
        similarities = [
            sum(a * b for a, b in zip(rows[0][i], rows[1][j], strict=True)) for j in range(i + 1 if causal else 6)
        ]
        expected = sum(s * value[0, 0, j] for j, s in enumerate(similarities)) / sum(similarities)
        torch.testing.assert_close(found[i], expected)


def test_low_rank_attention_is_linformers_equation() -> None:
    """Wang et al. 2020, equation 7, head by head; padding is in no mixture, and shorter texts use fewer columns."""
    torch.manual_seed(0)
    attention = LowRankAttention(8, Heads(2, 3, 5), length=9, rank=4).double()
    x, lengths = heads(2, 7, 8), torch.tensor([7, 4])
    found = attention(x, attention.keys_values(x), Mask(lengths))
    for row, length in enumerate(lengths.tolist()):
        parts = []
        for head in range(2):
            of_key, of_value = slice(3 * head, 3 * head + 3), slice(5 * head, 5 * head + 5)
            query = x[row] @ attention.query.weight[of_key].T
            key = attention.key_mixtures.weight[:, :length] @ x[row, :length] @ attention.key.weight[of_key].T
            value = attention.value_mixtures.weight[:, :length] @ x[row, :length] @ attention.value.weight[of_value].T
            parts.append((query @ key.T / math.sqrt(3)).softmax(-1) @ value)
        torch.testing.assert_close(found[row], torch.cat(parts, dim=-1) @ attention.output.weight.T)
    with pytest.raises(ValueError, match="later"):
        attention(x, attention.keys_values(x), CAUSAL)


def test_scores_of_any_size_do_not_overflow() -> None:
    query, key, value = (heads(1, 1, 9, 4, seed=seed) * 1e3 for seed in range(3))
    found = ChunkedKernel(2)(query, key, value, CAUSAL, 1.0)
    torch.testing.assert_close(found, reference.attention(query, key, value, CAUSAL, 1.0))


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_blocks_give_what_all_pairs_give(pattern: Pattern, mask: Mask) -> None:
    mask = replace(mask, pattern=pattern)
    same(with_gradients(sparse.attention, mask), with_gradients(reference.attention, mask))


@pytest.mark.parametrize("queries", [1, 6, 22])
@pytest.mark.parametrize("mask", [MASKS["causal"], MASKS["padded on the left"]], ids=["causal", "left"])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_blocks_of_the_last_queries(pattern: Pattern, mask: Mask, queries: int) -> None:
    mask = replace(mask, pattern=pattern)
    same(with_gradients(sparse.attention, mask, queries), with_gradients(reference.attention, mask, queries))


def test_the_chosen_kernel_is_the_one_with_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(sparse, "attention", lambda query, *_: called.append(query.shape[-2]) or query)
    for size in (10, 11):  # 3 blocks of 3, and a global token
        one = heads(1, 1, size, 4)
        fused.attention(one, one, one, Mask(pattern=SlidingWindow(3, global_tokens=1)), 0.5)
    assert called == [11]


@pytest.mark.parametrize("causal", [False, True])
def test_a_window_is_longformers(causal: bool) -> None:
    """Beltagy et al. 2020, section 3.1: w/2 tokens on each side, and tokens that attend to all and all to them."""
    found = Mask(is_causal=causal, pattern=SlidingWindow(3, global_tokens=2)).boolean(12, 12, torch.device("cpu"))
    assert found is not None and found.shape == (1, 1, 12, 12)
    for query in range(12):
        for key in range(12):
            expected = (abs(query - key) <= 3 or query < 2 or key < 2) and not (causal and key > query)
            assert bool(found[0, 0, query, key]) == expected, (query, key)


@pytest.mark.parametrize("causal", [False, True])
def test_blocks_are_bigbirds(causal: bool) -> None:
    """Zaheer et al. 2020, section 2: global tokens, a window of blocks, and random blocks for each block of queries."""
    size, pattern = 30, BigBird(3, 1, global_tokens=2, random=2, seed=5)
    found = Mask(is_causal=causal, pattern=pattern).boolean(size, size, torch.device("cpu"))
    assert found is not None
    allowed, drawn = found[0, 0], 0
    for block in range(10):
        rows = allowed[3 * block : 3 * block + 3]
        for other in range(10):
            square = rows[:, 3 * other : 3 * other + 3]
            full = torch.ones(3, 3, dtype=torch.bool)
            if causal:
                full = full.tril(3 * (block - other))
            if abs(block - other) <= 1:
                assert torch.equal(square, full), (block, other)
            elif block > 0 and other > 0:
                assert not square.any() or torch.equal(square, full), (block, other)
                drawn += bool(square.any())
        if block > 0:
            assert torch.equal(rows[:, :2], torch.ones(3, 2, dtype=torch.bool))
    assert bool(allowed[:2].all()) != causal
    assert 5 <= drawn <= 2 * 9


def test_random_blocks_are_spread_evenly_and_differ_by_layer() -> None:
    own, counts = torch.arange(1000)[None], torch.tensor([1000])
    drawn = [BigBird(1, 0, random=4, seed=seed).blocks_seen(own, counts, False)[0, :, 1:] for seed in (0, 1)]
    assert (drawn[0] == drawn[1]).float().mean() < 0.01
    shares = torch.histc(drawn[0].float(), bins=10, min=0, max=1000) / drawn[0].numel()
    assert bool(((shares > 0.08) & (shares < 0.12)).all())
    earlier = BigBird(1, 0, random=4).blocks_seen(own, counts, True)[0, 1:, 1:]
    assert bool((earlier < own[0, 1:, None]).all()) and bool((earlier >= 0).all())


def test_the_scrambled_numbers_are_those_of_the_hash() -> None:
    """The same by Python's integers."""

    def plain(x: int) -> int:
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
            x = ((x ^ (x >> shift)) * factor) % 2**32
        return x ^ (x >> 16)

    numbers = [0, 1, 2, 12345, 2**31, 2**32 - 1]
    assert scrambled(torch.tensor(numbers)).tolist() == [plain(number) for number in numbers]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_is_the_same_in_company_and_alone(pattern: Pattern, causal: bool) -> None:
    together = Mask(torch.tensor([23, 9]), causal, pattern=pattern).boolean(SIZE, SIZE, torch.device("cpu"))
    alone = Mask(None, causal, pattern=pattern).boolean(9, 9, torch.device("cpu"))
    assert together is not None and alone is not None
    assert torch.equal(together[1, :, :9, :9], alone[0])
    if causal:  # where the padding is on the left, and in steps
        left = Mask(None, True, key_starts=torch.tensor([14]), pattern=pattern).boolean(SIZE, SIZE, torch.device("cpu"))
        step = Mask(None, True, pattern=pattern).boolean(2, 9, torch.device("cpu"))
        assert left is not None and step is not None
        assert torch.equal(left[0, :, 14:, 14:], alone[0]) and torch.equal(step[0], alone[0, :, 7:])
