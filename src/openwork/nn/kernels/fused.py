"""Attention through the framework's fused kernel; equal to the reference, without the matrix of weights."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from openwork.machine.thresholds import PLAIN_ATTENTION
from openwork.nn.kernels import WeightFunction, linear, reference, short, sparse
from openwork.nn.kernels.native import attention as compiled
from openwork.nn.masks import Mask
from openwork.nn.shapes import Bias, HeadOutputs, Keys, Queries, Values


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
    """Attention(Q, K, V) = softmax(scale Q K^T) V, equation 1 with scale = 1 / sqrt(d_k)."""
    if weight_function is linear.weights and bias is None and not dropout:
        return linear.attention(query, key, value, mask)
    if weight_function is not None:
        return reference.attention(query, key, value, mask, scale, dropout, bias, weight_function)
    if sparse.is_worthwhile(query, mask) and bias is None:
        return sparse.attention(query, key, value, mask, scale, dropout)
    queries, keys = query.shape[-2], key.shape[-2]
    if bias is None and not dropout and compiled.takes(query, key, value, mask):
        return compiled.attention(query, key, value, mask, scale)
    if short.is_short(query, key, bias, dropout):
        return short.attention(query, key, value, mask.boolean(queries, keys, query.device), scale)
    if query.device.type == "cpu" and query.dtype is torch.bfloat16:
        # On a CPU the framework's kernel is about 3 times slower in bf16 than in fp32 at such lengths.
        with torch.autocast("cpu", enabled=False):
            wider = None if bias is None else bias.float()
            wide = attention(query.float(), key.float(), value.float(), mask, scale, dropout, wider)
        return wide.to(torch.bfloat16)
    # With dropout the framework has no fused kernel on a CPU either, and draws from a generator of its own.
    if query.device.type == "cpu" and (queries * keys <= PLAIN_ATTENTION or dropout):
        return reference.attention(query, key, value, mask, scale, dropout, bias)
    # The framework's own causal flag counts from the first key; ours from the last: equal only for squares.
    square_causal = mask.is_only_causal and queries == keys and bias is None
    allowed = None if square_causal else mask.boolean(queries, keys, query.device)
    if bias is not None:  # the framework has one argument for both: a mask of numbers
        bias = bias.to(query.dtype)
        allowed = bias if allowed is None else bias.masked_fill(~allowed, float("-inf"))
    return scaled_dot_product_attention(
        query, key, value, attn_mask=allowed, is_causal=square_causal, scale=scale, dropout_p=dropout
    )
