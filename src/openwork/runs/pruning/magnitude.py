"""Weights that are set to zero because they are small (Han et al. 2015; See et al. 2016 for translation)."""

from collections.abc import Mapping

import torch
from torch import Tensor


def with_largest(weights: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Of each matrix this share of the numbers, the largest by magnitude, and zeros in place of the others.

    Each matrix loses as many: those of embeddings and of layers are of different sizes. Vectors (biases, gains of
    norms) are few and stay.
    """
    return {name: _largest(weight, share) if weight.dim() >= 2 else weight for name, weight in weights.items()}


def _largest(weight: Tensor, share: float) -> Tensor:
    flat = weight.flatten()
    kept = flat.abs().topk(max(1, round(share * flat.numel()))).indices
    return torch.zeros_like(flat).index_copy(0, kept, flat[kept]).view_as(weight)
