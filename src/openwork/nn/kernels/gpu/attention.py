"""Attention of packed short sentences as two operations of the framework, forwards and backwards.

As custom operations, so that the framework's compiler takes them as they are (`attention_kernels.py` has the formulas).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from openwork.nn.kernels.gpu import doubled

SMALLEST, LARGEST = 16, 64  # rows of a tile, and the least of its columns
WARPS = {16: 1, 32: 2, 64: 4}  # of 32 threads, by the rows of a tile
BACKWARD_WARPS = {16: 2, 32: 4, 64: 4}
STAGES = 1  # most sentences are one tile: reading the next one ahead takes registers, and so programs at a time


def tile_rows(longest: int) -> int:
    """Rows of a tile for sentences of at most so many tokens: a power of 2."""
    return min(LARGEST, doubled(longest, SMALLEST))


def _compact(heads: Tensor) -> Tensor:
    """With the numbers of a head side by side."""
    return heads if heads.stride(-1) == 1 else heads.contiguous()


def _beside(key: Tensor) -> Tensor:
    """Memory for two of (position, head, width) beside each other."""
    positions, heads, width = key.shape
    return torch.empty(positions, 2, heads, width, dtype=key.dtype, device=key.device)


def _strides(*heads: Tensor) -> list[int]:
    return [step for one in heads for step in one.stride()[:2]]


@torch.library.custom_op("openwork::sentences", mutates_args=())
def sentences(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    starts: Sequence[Tensor],
    longest: Sequence[int],
    is_causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """softmax(scale Q K^T) V inside each sentence, and each row's normaliser as a logarithm to base 2.

    Queries, keys and values: (position, head, width). `starts` of the queries' sentences and of the keys', as many on
    both sides: (sentence + 1), int32. `longest`: the most tokens that any of these and any of those has. The result:
    (position, head, width), (position, head).
    """
    from openwork.nn.kernels.gpu.attention_kernels import forward

    query, key, value = _compact(query), _compact(key), _compact(value)
    positions, heads, width = query.shape
    output = torch.empty(positions, heads, width, dtype=query.dtype, device=query.device)
    normaliser = torch.empty(positions, heads, dtype=torch.float32, device=query.device)
    block = tile_rows(max(longest))
    forward[(starts[0].shape[0] - 1, heads)](
        query, key, value, output, normaliser, *starts, scale, *_strides(query, key, value), heads, int(is_causal),
        BLOCK=block, WIDTH=width, PADDED=doubled(width, SMALLEST), num_warps=WARPS[block], num_stages=STAGES,
    )  # fmt: skip
    return output, normaliser


@sentences.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_others: Any) -> tuple[Tensor, Tensor]:
    positions, heads, width = query.shape
    return query.new_empty(positions, heads, width), query.new_empty(positions, heads, dtype=torch.float32)


@torch.library.custom_op("openwork::sentences_backward", mutates_args=())
def sentences_backward(
    gradient: Tensor,
    heads: Sequence[Tensor],
    normaliser: Tensor,
    starts: Sequence[Tensor],
    longest: Sequence[int],
    is_causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """The gradients by queries, and by keys and values (position, 2, head, width), for that by the output.

    `heads`: queries, keys, values and output. The projections of keys and values are one product, which so finds their
    gradients side by side.
    """
    from openwork.nn.kernels.gpu.attention_kernels import backward

    query, key, value, gradient = map(_compact, (*heads[:3], gradient))
    count, width = query.shape[1:]
    by_query, by_both = torch.empty(query.shape, dtype=query.dtype, device=query.device), _beside(key)
    found = by_query, *by_both.unbind(1)
    block = tile_rows(max(longest))
    backward[(starts[0].shape[0] - 1, count)](
        query, key, value, heads[3].contiguous(), normaliser, gradient, *found, *starts, scale,
        *_strides(query, key, value, gradient), by_both.stride(0), count, int(is_causal),
        SINGLE=max(longest) <= block, BLOCK=block, WIDTH=width, PADDED=doubled(width, SMALLEST),
        num_warps=BACKWARD_WARPS[block], num_stages=STAGES,
    )  # fmt: skip
    return by_query, by_both


@sentences_backward.register_fake
def _(gradient: Tensor, heads: Sequence[Tensor], *_others: Any) -> tuple[Tensor, Tensor]:
    return heads[0].new_empty(heads[0].shape), _beside(heads[1])


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    query, key, value, starts, ctx.longest, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, *output, *starts)
    ctx.mark_non_differentiable(output[1])


def _gradients(ctx: Any, gradient: Tensor, _normaliser: Tensor | None) -> tuple[Any, ...]:
    *heads, normaliser, query_starts, key_starts = ctx.saved_tensors
    starts = [query_starts, key_starts]
    by_query, by_both = sentences_backward(gradient, heads, normaliser, starts, ctx.longest, ctx.is_causal, ctx.scale)
    return by_query, *by_both.unbind(1), [None, None], None, None, None


sentences.register_autograd(_gradients, setup_context=_remember)
