"""Weights that are zeros and stay zeros, whatever the optimiser does."""

import torch
from torch import Tensor, nn

from openwork.models.interfaces import SequenceModel

Mask = tuple[nn.Parameter, Tensor]
"""A weight, and where it may be something else than zero."""


class KeptZeros:
    """The zeros of a model: rows that it names, such as the vector before the first token, and those of its matrices.

    `of_matrices`: whether what is zero in a matrix now stays so; a pruned model has many (`runs/pruning/magnitude.py`).
    """

    def __init__(self, model: SequenceModel, *, of_matrices: bool = False) -> None:
        self.masks: list[Mask] = []
        rows = dict(model.zero_rows)
        for weight in model.parameters():
            is_searched = of_matrices and weight.dim() >= 2
            if weight not in rows and not is_searched:
                continue
            mask = weight.detach() != 0 if is_searched else torch.ones_like(weight, dtype=torch.bool)
            if weight in rows:
                mask[rows[weight]] = False
            if not mask.all():
                self.masks.append((weight, mask))

    @property
    def count(self) -> int:
        """How many numbers these are."""
        return sum(int((~mask).sum()) for _, mask in self.masks)

    @torch.no_grad()
    def restore(self) -> None:
        """Makes them zeros again, after an optimiser's step."""
        for weight, mask in self.masks:
            weight.mul_(mask)
