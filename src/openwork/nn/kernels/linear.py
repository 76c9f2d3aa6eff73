"""Kernelised linear attention: time and memory grow with the length alone (Katharopoulos et al. 2020).

A product of feature maps replaces the exponential of the dot product, so that the sums over keys are made before any
query comes (equations 5, 9 to 12):

    V'_i = phi(q_i)^T S_i / phi(q_i)^T Z_i,  S_i = sum_j phi(k_j) v_j^T,  Z_i = sum_j phi(k_j)

over all keys, or over j <= i where the order counts. A column of ones beside the values makes Z the last column of S.
"""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from openwork.nn.kernels import reference, widened
from openwork.nn.masks import Mask
from openwork.nn.shapes import Bias, HeadOutputs, Keys, Queries, Scores, Values

CHUNK = 128  # positions whose pairs are computed; before them are sums

Sums = Float[Tensor, "batch head head_width columns"]  # S beside Z
Summed = Float[Tensor, "batch head query columns"]  # phi(q)^T S beside phi(q)^T Z


def features(x: Tensor) -> Tensor:
    """phi(x) = elu(x) + 1, which is positive (equation 7)."""
    return functional.elu(x) + 1


def weights(query: Queries, key: Keys, mask: Mask, scale: float, bias: Bias | None = None) -> Scores:
    """The quadratic form: phi(q_i)^T phi(k_j), divided by its sum over the allowed keys (equation 4).

    No scale and no bias: they would be lost in the sums. A query that may attend to no key gets zeros.
    """
    products = features(query) @ features(key).transpose(-2, -1)
    allowed = mask.boolean(query.shape[-2], key.shape[-2], query.device)
    products = products if allowed is None else reference.masked_scores(products, allowed, fill=0.0)
    total = products.sum(dim=-1, keepdim=True)
    return products / total.masked_fill(total == 0, 1.0)


def attention(query: Queries, key: Keys, value: Values, mask: Mask) -> HeadOutputs:
    """What `weights` give, by sums; masks of given pairs and the last queries of many keys by the quadratic form."""
    later = mask.is_causal and query.shape[-2] != key.shape[-2]
    if later or any(other is not None for other in (mask.allowed, mask.segments, mask.pattern)):
        return weights(query, key, mask, 1.0) @ value
    with torch.autocast(query.device.type, enabled=False):
        query, key, values = widened(query, key, value)
        keys, values = hidden(features(key), real_keys(mask, key)), with_ones(values)
        asked = features(query)
        found = prefix_sums(asked, keys, values) if mask.is_causal else asked @ (keys.transpose(-2, -1) @ values)
        return normalised(found).to(value.dtype)


def real_keys(mask: Mask, key: Keys, first: int = 0) -> Bool[Tensor, "batch 1 key 1"] | None:
    """Which keys, the first of them in column `first`, are no padding; None: all are real."""
    columns = torch.arange(first, first + key.shape[-2], device=key.device)
    real = replace(mask, is_causal=False).pairs(columns[:1, None], columns)
    return None if real is None else real.transpose(-2, -1)


def hidden(keys: Tensor, real: Tensor | None) -> Tensor:
    """The features of keys, zero for padding, which so is in no sum."""
    return keys if real is None else keys.masked_fill(~real, 0.0)


def with_ones(value: Values) -> Float[Tensor, "batch head key columns"]:
    return torch.cat((value, torch.ones_like(value[..., :1])), dim=-1)


def prefix_sums(
    query: Queries, key: Keys, values: Float[Tensor, "batch head key columns"], before: Sums | None = None
) -> Summed:
    """phi(q_i)^T S_i of features; as many queries as keys, and `before` the sums of earlier keys.

    S_i is what comes before the chunk of i, which is added up, and what is in the chunk, whose pairs are computed.
    """
    size = query.shape[-2]
    chunk = min(size, CHUNK)
    query, key, values = (
        functional.pad(x, (0, 0, 0, -size % chunk)).unflatten(2, (-1, chunk)) for x in (query, key, values)
    )
    each = key.transpose(-2, -1) @ values
    earlier = functional.pad(each[:, :, :-1].cumsum(dim=2), (0, 0, 0, 0, 1, 0))
    earlier = earlier if before is None else earlier + before[:, :, None]
    inside = (query @ key.transpose(-2, -1)).tril() @ values
    return (query @ earlier + inside).flatten(2, 3)[:, :, :size]


def normalised(found: Summed) -> HeadOutputs:
    """The sums divided by their normaliser, the last column; zeros where nothing was added up."""
    total = found[..., -1:]
    return found[..., :-1] / total.masked_fill(total == 0, 1.0)
