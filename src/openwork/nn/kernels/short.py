"""Attention of short sequences on a CPU in bfloat16: equation 1 as five small matrix products, forwards and backwards.

The framework's kernel for a CPU is made for long sequences, and in bfloat16 it is slower than in float32. For the
lengths of sentences whole matrices of weights fit into the cache, and this takes about 0.7 of its time
(benchmarks/results/parts.json). What is rounded to bfloat16 is what a flash kernel rounds too: the inputs,
the weights A and the gradient of the scores. Scores, softmax and the gradient's row sums are in float32.

With S = scale Q K^T, A = softmax(S), H = A V, and dX for the gradient of a loss by X, backwards:

    dV = A^T dH,  dA = dH V^T,  dS = A * (dA - rowsum(dA * A)),  dQ = scale dS K,  dK = scale dS^T Q

The tests hold both directions equal to the reference.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from openwork.machine.thresholds import BFLOAT16_ATTENTION, LANES
from openwork.nn.kernels.reference import NOTHING
from openwork.nn.shapes import Allowed, HeadOutputs, Keys, Queries, Values


def is_short(query: Tensor, key: Tensor, bias: Tensor | None, dropout: float) -> bool:
    """Whether `attention` may and should be used."""
    if torch.compiler.is_compiling():  # the compiler makes its own way of the formula
        return False
    small = query.shape[-2] * key.shape[-2] <= BFLOAT16_ATTENTION
    return query.device.type == "cpu" and query.dtype is torch.bfloat16 and small and bias is None and not dropout


def attention(query: Queries, key: Keys, value: Values, allowed: Allowed | None, scale: float) -> HeadOutputs:
    """softmax(scale Q K^T) V over the allowed keys; a query that may attend to none gets zeros."""
    return _Attention.apply(query, key, value, allowed, scale)  # type: ignore[no-any-return]


def softmax_backward(
    weights: Float[Tensor, "*rows key"], gradient: Float[Tensor, "*rows key"]
) -> Float[Tensor, "*rows key"]:
    """dS = A * (dA - rowsum(dA * A)): the softmax's Jacobian times each row of dA, without the (key, key) matrix."""
    return weights * (gradient - (gradient * weights).sum(dim=-1, keepdim=True))


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, scale: float) -> Tensor:
        more = -key.shape[-2] % LANES  # keys that nobody may attend to
        query = query.contiguous()
        key, value = (functional.pad(x, (0, 0, 0, more)) if more else x.contiguous() for x in (key, value))
        scores = (query.float() @ key.float().transpose(-2, -1)).mul_(scale)
        if more:
            scores[..., -more:] = NOTHING
        if allowed is not None:
            allowed = functional.pad(allowed, (0, more)) if more else allowed
            scores.masked_fill_(~allowed, NOTHING)
        weights = scores.softmax(dim=-1)
        if allowed is not None:
            nobody = ~allowed.any(dim=-1, keepdim=True)
            if bool(nobody.any()):
                weights.masked_fill_(nobody, 0.0)
        weights = weights.to(query.dtype)
        ctx.save_for_backward(query, key, value, weights)
        ctx.scale, ctx.more = scale, more
        return _beside(weights @ value)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        query, key, value, weights = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        by_weights = (gradient @ value.transpose(-2, -1)).float()
        by_scores = softmax_backward(weights.float(), by_weights).mul_(ctx.scale).to(query.dtype)
        keys = slice(None, key.shape[-2] - ctx.more)
        by_value = (weights.transpose(-2, -1) @ gradient)[..., keys, :]
        by_key = (by_scores.transpose(-2, -1) @ query)[..., keys, :]
        return _beside(by_scores @ key), _beside(by_key), _beside(by_value), None, None


def _beside(heads: Tensor) -> Tensor:
    """The same numbers with the heads of a position side by side in memory, as the projections want them."""
    return heads.transpose(1, 2).contiguous().transpose(1, 2)
