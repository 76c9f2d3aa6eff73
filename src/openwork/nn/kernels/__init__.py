"""Ways to compute scaled dot-product attention: one reads as the formula, the others are held equal to it."""

from collections.abc import Callable

import torch
from torch import Tensor

from openwork.nn.masks import Mask

WeightFunction = Callable[[Tensor, Tensor, Mask, float, Tensor | None], Tensor]
"""Weights (batch, head, query, key) of queries and keys, with a mask, a scale and a bias for their scores."""


Kernel = Callable[..., Tensor]
"""Attention(Q, K, V) for queries, keys and values of shape (batch, head, position, ...).

Called with query, key, value, mask (`Mask`) and scale, and optionally with a rate of dropout, a bias and a weight
function. `bias`, broadcastable to (batch, head, query, key), is added to the scores. `weight_function` replaces the
softmax of scaled dot products (`nn/attention.py`).
"""


def scale_of(head_width: int) -> float:
    """1 / sqrt(d_k), which keeps the variance of the scores at 1 however wide a head is (section 3.2.1)."""
    return head_width**-0.5


def widened(*heads: Tensor) -> tuple[Tensor, ...]:
    """In float32 at least, as sums over thousands of keys need the digits."""
    return tuple(one.to(torch.promote_types(one.dtype, torch.float32)) for one in heads)
