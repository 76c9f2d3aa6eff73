"""Scaled dot-product attention, as the paper writes it (equation 1)."""

import math

import torch
from jaxtyping import Bool
from torch import Tensor

from openwork.nn.dropout import dropout as dropped
from openwork.nn.kernels import WeightFunction
from openwork.nn.masks import Mask
from openwork.nn.shapes import Allowed, Bias, HeadOutputs, Keys, Queries, Scores, Values

NOTHING = -math.inf  # a score whose weight is exactly zero


def attention_scores(query: Queries, key: Keys, scale: float, bias: Bias | None = None) -> Scores:
    """scale Q K^T + bias: how alike each query is to each key."""
    scores = query @ key.transpose(-2, -1) * scale
    return scores if bias is None else scores + bias.to(scores.dtype)


def masked_scores(scores: Scores, allowed: Bool[Tensor, "#batch #head #query #key"], fill: float = NOTHING) -> Scores:
    """Minus infinity for the keys that may not be attended, so that the softmax gives them nothing (section 3.2.3).

    Another `fill` is a number far below all scores. Where their type cannot hold it (-1e9 in half precision), the
    lowest number of that type replaces it.
    """
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~allowed, max(fill, lowest) if math.isfinite(fill) else fill)


def softmax_over(scores: Scores, allowed: Allowed | None) -> Scores:
    """softmax over the keys that may be attended (None: all); a query that may attend to none gets zeros."""
    if allowed is None:
        return scores.softmax(dim=-1)
    # A row of nothing but -inf would turn into NaN: so its weights are set to zero after the softmax.
    weights = masked_scores(scores, allowed).softmax(dim=-1)
    return torch.where(allowed.any(dim=-1, keepdim=True), weights, torch.zeros_like(weights))


def attention_weights(query: Queries, key: Keys, mask: Mask, scale: float, bias: Bias | None = None) -> Scores:
    """softmax(scale Q K^T + bias) over the keys that may be attended; a query that may attend to none gets zeros."""
    allowed = mask.boolean(query.shape[-2], key.shape[-2], query.device)
    return softmax_over(attention_scores(query, key, scale, bias), allowed)


def weighted_sum(weights: Scores, value: Values) -> HeadOutputs:
    """The values, each query's by its weights."""
    return weights @ value


def attention(
    query: Queries,
    key: Keys,
    value: Values,
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
    bias: Bias | None = None,
    weight_function: WeightFunction | None = None,
) -> HeadOutputs:
    """Attention(Q, K, V) = softmax(scale Q K^T) V, equation 1 with scale = 1 / sqrt(d_k); or with `weight_function`."""
    weights = (weight_function or attention_weights)(query, key, mask, scale, bias)
    return weighted_sum(dropped(weights, dropout) if dropout else weights, value)
