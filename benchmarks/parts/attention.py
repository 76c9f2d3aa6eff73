"""The attention kernels: the framework's, the formula, and the choice between them that ours makes."""

import torch
from torch import Tensor
from torch.nn import functional

from openwork.nn.kernels import fused, reference
from openwork.nn.masks import Mask
from parts.comparison import Comparison

HEADS = 4


def comparisons(scale: int = 16) -> list[Comparison]:
    """As many tokens in sentences of several lengths, with a padding mask."""
    shapes = [(length, head_width) for head_width in (32, 64) for length in (8, 16, 32, 64, 128)]
    in_float32 = [_comparison(256 * scale, length, head_width) for length, head_width in shapes]
    return in_float32 + [_narrow_comparison(256 * scale, length) for length in (8, 16, 32, 64)]


def _comparison(tokens: int, length: int, head_width: int) -> Comparison:
    batch = tokens // length
    inputs = [torch.randn(batch, length, HEADS, head_width, requires_grad=True) for _ in range(3)]
    query, key, value = (x.transpose(1, 2) for x in inputs)  # laid out as the projections leave them
    gradient = torch.randn(batch, length, HEADS, head_width).transpose(1, 2)
    mask = Mask(key_lengths=torch.full((batch,), length - 1))
    allowed = mask.boolean(length, length, query.device)

    def back(result: Tensor) -> list[Tensor]:
        return [result, *torch.autograd.grad(result, inputs, gradient)]

    return Comparison(
        f"attention, length {length}, head width {head_width}",
        f"{tokens:,} tokens, {HEADS} heads, a padding mask, float32, forward and backward",
        {
            "formula": lambda: back(reference.attention(query, key, value, mask, head_width**-0.5)),
            "framework": lambda: back(functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed)),
            "ours": lambda: back(fused.attention(query, key, value, mask, head_width**-0.5)),
        },
        tolerance=1e-4,
    )


def _narrow_comparison(tokens: int, length: int, head_width: int = 64) -> Comparison:
    """bfloat16 in and out: with the framework in float32 between two casts, and in our products of bf16 matrices."""
    batch = tokens // length
    made = [torch.randn(batch, length, HEADS, head_width).bfloat16().requires_grad_() for _ in range(3)]
    query, key, value = (x.transpose(1, 2) for x in made)
    gradient = torch.randn(batch, length, HEADS, head_width).bfloat16().transpose(1, 2)
    mask = Mask(key_lengths=torch.full((batch,), length - 1))
    allowed = mask.boolean(length, length, query.device)

    def back(result: Tensor) -> list[Tensor]:
        return [result, *torch.autograd.grad(result, made, gradient)]

    def framework() -> list[Tensor]:
        wide = query.float(), key.float(), value.float()
        return back(functional.scaled_dot_product_attention(*wide, attn_mask=allowed).bfloat16())

    return Comparison(
        f"attention in bfloat16, length {length}, head width {head_width}",
        f"{tokens:,} tokens, {HEADS} heads, a padding mask, bfloat16 in and out, forward and backward",
        {
            "framework in float32": framework,
            "ours": lambda: back(fused.attention(query, key, value, mask, head_width**-0.5)),
        },
        tolerance=0.1,
    )
