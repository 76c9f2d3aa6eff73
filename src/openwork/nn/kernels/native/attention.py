"""Attention of short sentences on a CPU by attention.cpp: a head of a sentence is computed while it is in the cache."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from openwork.machine.thresholds import BFLOAT16_ATTENTION, PLAIN_ATTENTION
from openwork.nn.kernels import native
from openwork.nn.masks import Mask
from openwork.nn.shapes import HeadOutputs, Keys, Queries, Values

TENSORS = ("query", "key", "value", "output", "gradient", "by_query", "by_key", "by_value")


class HeadsFields(ctypes.Structure):
    """Those of attention.cpp: numbers (sentence, head, position, width), and the steps of the first three."""

    _fields_ = [
        ("numbers", ctypes.c_void_p), ("sentence_step", ctypes.c_int64), ("head_step", ctypes.c_int64),
        ("step", ctypes.c_int64),
    ]  # fmt: skip

    @classmethod
    def of(cls, heads: Tensor) -> "HeadsFields":
        return cls(heads.data_ptr(), *heads.stride()[:3])


class ShortAttentionFields(ctypes.Structure):
    """Those of attention.cpp."""

    _fields_ = [
        *((name, HeadsFields) for name in TENSORS),
        ("weights", ctypes.c_void_p), ("lengths", ctypes.c_void_p), ("sentences", ctypes.c_int64),
        ("heads", ctypes.c_int64), ("queries", ctypes.c_int64), ("keys", ctypes.c_int64), ("width", ctypes.c_int64),
        ("is_causal", ctypes.c_int64), ("threads", ctypes.c_int64), ("scale", ctypes.c_float),
    ]  # fmt: skip


def takes(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> bool:
    """Whether `attention` is there for these, and made for them: short sentences, of which the first keys are real.

    For longer ones in float32 the framework keeps no weights.
    """
    width, others = query.shape[-1], (mask.allowed, mask.segments, mask.key_starts, mask.pattern)
    return (
        query.shape[-2] * key.shape[-2] <= (PLAIN_ATTENTION if query.dtype is torch.float32 else BFLOAT16_ATTENTION)
        and all(other is None for other in others)
        and width % native.MULTIPLE == 0
        and key.shape == value.shape == (*query.shape[:2], key.shape[2], width)
        and native.takes(query, key, value)
    )


def attention(query: Queries, key: Keys, value: Values, mask: Mask, scale: float) -> HeadOutputs:
    """softmax(scale Q K^T) V; a query that may attend to no key gets zeros."""
    lengths = None if mask.key_lengths is None else mask.key_lengths.to(torch.int64).contiguous()
    return CompiledAttention.apply(query, key, value, lengths, mask.is_causal, scale)  # type: ignore[no-any-return]


class CompiledAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, lengths: Tensor | None, is_causal: bool, scale: float
    ) -> Tensor:
        query, key, value = map(_compact, (query, key, value))
        sentences, heads, queries, _ = query.shape
        weights = query.new_empty(sentences, heads, queries, -(-key.shape[2] // native.MULTIPLE) * native.MULTIPLE)
        output = _beside(query)
        ctx.options = is_causal, scale
        _call(
            "attention", {"query": query, "key": key, "value": value, "output": output}, weights, lengths, ctx.options
        )
        ctx.save_for_backward(query, key, value, weights, lengths)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        query, key, value, weights, lengths = ctx.saved_tensors
        made = {name: _beside(x) for name, x in (("by_query", query), ("by_key", key), ("by_value", value))}
        given = {"query": query, "key": key, "value": value, "gradient": _compact(gradients[0])}
        _call("attention_backward", {**given, **made}, weights, lengths, ctx.options)
        return *made.values(), None, None, None


def _compact(heads: Tensor) -> Tensor:
    """With the numbers of a head side by side."""
    return heads if heads.stride(-1) == 1 else heads.contiguous()


def _beside(heads: Tensor) -> Tensor:
    """Memory for as many numbers, with the heads of a position side by side, as the projections want them."""
    sentences, count, positions, width = heads.shape
    return torch.empty(sentences, positions, count, width, dtype=heads.dtype).transpose(1, 2)


def _call(
    name: str, tensors: dict[str, Tensor], weights: Tensor, lengths: Tensor | None, options: tuple[bool, float]
) -> None:
    query, key = tensors["query"], tensors["key"]
    sentences, heads, queries, width = query.shape
    fields = ShortAttentionFields(
        weights=weights.data_ptr(), lengths=None if lengths is None else lengths.data_ptr(), sentences=sentences,
        heads=heads, queries=queries, keys=key.shape[2], width=width, is_causal=options[0], scale=options[1],
        threads=native.threads_for(query),
        **{name: HeadsFields.of(tensor) for name, tensor in tensors.items()},
    )  # fmt: skip
    native.function(name, query.dtype, ctypes.POINTER(ShortAttentionFields))(ctypes.byref(fields))
