"""Ways to compute scaled dot-product attention: one reads as the formula, the others are held equal to it."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from torch import Tensor

from openwork.nn.masks import Mask

WeightFunction = Callable[[Tensor, Tensor, Mask, float, Tensor | None], Tensor]
"""Weights (batch, head, query, key) of queries and keys, with a mask, a scale and a bias for their scores."""


@runtime_checkable
class Kernel(Protocol):
    """Attention(Q, K, V) for queries, keys and values of shape (batch, head, position, ...).

    `bias`, broadcastable to (batch, head, query, key), is added to the scores. `weight_function` replaces the softmax
    of scaled dot products (`nn/attention.py`).
    """

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
        bias: Tensor | None = None,
        weight_function: WeightFunction | None = None,
    ) -> Tensor: ...


def scale_of(head_width: int) -> float:
    """1 / sqrt(d_k), which keeps the variance of the scores at 1 however wide a head is (section 3.2.1)."""
    return head_width**-0.5
