"""The loss joined with the output projection beside one after the other."""

import torch
from torch.nn import functional

from openwork.training.loss import projected_loss, smoothed_cross_entropy
from parts.comparison import Comparison


def comparisons(scale: int = 16) -> list[Comparison]:
    """Forward and backward, with products in both types."""
    return [_comparison(256 * scale, 500 * scale, dtype) for dtype in (torch.float32, torch.bfloat16)]


def _comparison(tokens: int, vocabulary: int, dtype: torch.dtype) -> Comparison:
    hidden = torch.randn(tokens, 256, requires_grad=True)
    weight = torch.randn(vocabulary, 256).mul(0.05).requires_grad_()
    targets = torch.randint(0, vocabulary, (tokens,))
    name = str(dtype).removeprefix("torch.")

    def plain() -> list[torch.Tensor]:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is torch.bfloat16):
            logits = functional.linear(hidden, weight)
        loss = smoothed_cross_entropy(logits, targets, 0.1).smoothed
        return [loss, *torch.autograd.grad(loss, (hidden, weight))]

    def joined() -> list[torch.Tensor]:
        loss = projected_loss([hidden], weight, targets, 0.1, dtype).smoothed
        return [loss, *torch.autograd.grad(loss, (hidden, weight))]

    return Comparison(
        f"loss, {name}",
        f"{tokens:,} tokens, width 256, {vocabulary:,} pieces, forward and backward",
        {"projection, then loss": plain, "joined": joined},
        tolerance=1e-4 if dtype is torch.float32 else 3e-2,
    )
