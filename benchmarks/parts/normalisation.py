"""Norms beside their formulas."""

import torch
from torch import Tensor, nn

from openwork.nn.normalisation import EPSILON, RMSNorm, layer_norm
from parts.comparison import Comparison


def comparisons(scale: int = 16) -> list[Comparison]:
    """Forward and backward, of both norms."""
    x = torch.randn(256 * scale, 256, requires_grad=True)

    def by_formula() -> list[Tensor]:
        centred = x - x.mean(dim=-1, keepdim=True)
        return _back(centred / (centred.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt(), x)

    def root_by_formula() -> list[Tensor]:
        return _back(x / (x.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt(), x)

    what = f"{x.shape[0]:,} vectors of 256, forward and backward"
    return [
        Comparison("layer norm", what, {"formula": by_formula, "ours": _way(layer_norm(256), x)}),
        Comparison("root mean square norm", what, {"formula": root_by_formula, "ours": _way(RMSNorm(256), x)}),
    ]


def _way(norm: nn.Module, x: Tensor):  # gain 1 and shift 0, as they begin
    return lambda: _back(norm(x), x)


def _back(result: Tensor, x: Tensor) -> list[Tensor]:
    return [result, *torch.autograd.grad(result, x, torch.cos(x.detach()))]
