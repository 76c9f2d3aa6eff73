"""Cheap random masks beside the framework's dropout."""

import torch
from torch.nn import functional

from openwork.nn.dropout import Dropout
from parts.comparison import Comparison


def comparisons(scale: int = 16) -> list[Comparison]:
    """Forward and backward; that both drop as often and keep the mean is tested elsewhere."""
    x = torch.randn(16 * scale, 16, 256, requires_grad=True)
    ours = Dropout(0.3)
    return [
        Comparison(
            "dropout",
            f"a tensor of {tuple(x.shape)}, rate 0.3, forward and backward",
            {
                "framework": lambda: torch.autograd.grad(functional.dropout(x, 0.3).sum(), x),
                "ours": lambda: torch.autograd.grad(ours(x).sum(), x),
            },
            tolerance=None,
        )
    ]
