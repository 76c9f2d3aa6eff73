"""Scaled dot-product attention, as the paper writes it (equation 1)."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from openwork.nn.masks import Mask


def attention_weights(
    query: Float[Tensor, "batch head query head_width"],
    key: Float[Tensor, "batch head key head_width"],
    mask: Mask,
    scale: float,
    bias: Float[Tensor, "*#batch #head query key"] | None = None,
) -> Float[Tensor, "batch head query key"]:
    """softmax(scale Q K^T + bias) over the keys that may be attended; a query that may attend to none gets zeros."""
    scores = query @ key.transpose(-2, -1) * scale
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    allowed = mask.boolean(query.shape[-2], key.shape[-2], query.device)
    if allowed is None:
        return scores.softmax(dim=-1)
    # A row of nothing but -inf would turn into NaN, so its weights are set to zero after the softmax.
    weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
    return torch.where(allowed.any(dim=-1, keepdim=True), weights, torch.zeros_like(weights))


def attention(
    query: Float[Tensor, "batch head query head_width"],
    key: Float[Tensor, "batch head key head_width"],
    value: Float[Tensor, "batch head key value_width"],
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
    bias: Float[Tensor, "*#batch #head query key"] | None = None,
) -> Float[Tensor, "batch head query value_width"]:
    """Attention(Q, K, V) = softmax(scale Q K^T) V, equation 1 with scale = 1 / sqrt(d_k)."""
    weights = attention_weights(query, key, mask, scale, bias)
    return functional.dropout(weights, dropout) @ value
