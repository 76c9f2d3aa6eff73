"""Exact attention in memory that does not grow with the square of the length (Rabe and Staats 2021).

The softmax's normaliser is a sum over keys, so keys can be read in chunks: for each query the sums of exp(s - m) v and
of exp(s - m) are kept, with m the greatest score so far, and rescaled when m grows (their sections 2 and 3). Backwards
the weights of a chunk are computed again from the scores and the normaliser, not kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from openwork.nn.kernels import WeightFunction, packed, reference, widened
from openwork.nn.masks import Mask
from openwork.nn.shapes import Bias, HeadOutputs, Keys, Queries, Values


@dataclass(frozen=True)
class ChunkedKernel:
    """Equation 1 by chunks of `size` queries and keys.

    Dropout, biases and other weights, and masks of given pairs, are for all pairs: these are computed by the formula.
    Packed rows are the packed kernel's.
    """

    size: int

    def __call__(
        self,
        query: Queries,
        key: Keys,
        value: Values,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
        bias: Bias | None = None,
        weight_function: WeightFunction | None = None,
    ) -> HeadOutputs:
        if mask.segments is not None:
            return packed.attention(query, key, value, mask, scale, dropout, bias, weight_function)
        others = (bias, weight_function, mask.allowed, mask.pattern)
        if dropout or any(other is not None for other in others):
            return reference.attention(query, key, value, mask, scale, dropout, bias, weight_function)
        with torch.autocast(query.device.type, enabled=False):
            wide = widened(query, key, value)
            return _Chunked.apply(*wide, mask, scale, self.size).to(query.dtype)  # type: ignore[no-any-return]


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, size: int) -> Tensor:
        outputs = value.new_empty(*query.shape[:-1], value.shape[-1])
        normalisers = query.new_empty(*query.shape[:-1], 1)  # log of the sum of exp(s) over a query's keys
        for queries in _slices(query.shape[-2], size):
            highest = torch.full_like(normalisers[:, :, queries], reference.NOTHING)
            total, added = torch.zeros_like(highest), torch.zeros_like(outputs[:, :, queries])
            for keys in _keys_of(queries, query, key, mask, size):
                scores = _scores(query, key, mask, scale, (queries, keys))
                higher = torch.maximum(highest, scores.amax(dim=-1, keepdim=True))
                shift = higher.masked_fill(higher == reference.NOTHING, 0.0)  # no key so far: exp(-inf) is zero
                weights, before = (scores - shift).exp_(), (highest - shift).exp_()
                total = total * before + weights.sum(dim=-1, keepdim=True)
                added = added * before + weights @ value[:, :, keys]
                highest = higher
            nothing = total == 0  # a query that may attend to no key gets zeros
            outputs[:, :, queries] = added / total.masked_fill(nothing, 1.0)
            normalisers[:, :, queries] = (highest + total.log()).masked_fill(nothing, torch.inf)
        ctx.save_for_backward(query, key, value, outputs, normalisers)
        ctx.mask, ctx.scale, ctx.size = mask, scale, size
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """With A the weights, H the outputs: dV = A^T dH, dS = A * (dH V^T - rowsum(dH * H)), as in `short.py`."""
        query, key, value, outputs, normalisers = ctx.saved_tensors
        mask, scale, size, gradient = ctx.mask, ctx.scale, ctx.size, gradients[0]
        by_query, by_key, by_value = (torch.zeros_like(each) for each in (query, key, value))
        for queries in _slices(query.shape[-2], size):
            of_output = gradient[:, :, queries]
            rowsum = (of_output * outputs[:, :, queries]).sum(dim=-1, keepdim=True)
            for keys in _keys_of(queries, query, key, mask, size):
                scores = _scores(query, key, mask, scale, (queries, keys))
                weights = (scores - normalisers[:, :, queries]).exp_()
                by_value[:, :, keys] += weights.transpose(-2, -1) @ of_output
                by_scores = weights * (of_output @ value[:, :, keys].transpose(-2, -1) - rowsum) * scale
                by_query[:, :, queries] += by_scores @ key[:, :, keys]
                by_key[:, :, keys] += by_scores.transpose(-2, -1) @ query[:, :, queries]
        return by_query, by_key, by_value, None, None, None


def _slices(length: int, size: int) -> Iterator[slice]:
    yield from (slice(first, min(first + size, length)) for first in range(0, length, size))


def _keys_of(queries: slice, query: Tensor, key: Tensor, mask: Mask, size: int) -> Iterator[slice]:
    """The chunks of keys that some of these queries may attend to; the last query is at the last key."""
    end = queries.stop + key.shape[-2] - query.shape[-2] if mask.is_causal else key.shape[-2]
    return _slices(end, size)


def _scores(query: Tensor, key: Tensor, mask: Mask, scale: float, chunk: tuple[slice, slice]) -> Tensor:
    """The scores of a chunk of queries and keys, minus infinity where the mask forbids."""
    queries, keys = chunk
    first = queries.start + key.shape[-2] - query.shape[-2]
    places = torch.arange(first, first + queries.stop - queries.start, device=key.device)
    allowed = mask.pairs(places[:, None], torch.arange(keys.start, keys.stop, device=key.device))
    scores = query[:, :, queries] @ key[:, :, keys].transpose(-2, -1) * scale
    return scores if allowed is None else scores.masked_fill(~allowed, reference.NOTHING)
