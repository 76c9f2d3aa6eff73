"""Multi-head attention (section 3.2.2 of the paper)."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.base.messages import msg
from openwork.nn.cache import KeyValue, extend
from openwork.nn.distances import Distances, NoDistances, Rotary
from openwork.nn.kernels import Kernel, WeightFunction, fused, linear, packed, scale_of
from openwork.nn.kernels.reference import attention_scores, masked_scores, softmax_over
from openwork.nn.masks import Mask
from openwork.nn.patterns import Pattern
from openwork.nn.shapes import Bias, Keys, Queries, Scores


class ScaledProducts(nn.Module):
    """softmax(Q K^T / sqrt(d_k)): the paper's (equation 1)."""

    @property
    def weight_function(self) -> WeightFunction | None:
        """The formula that replaces a kernel's; None: the kernel's is right."""
        return None

    def scale(self, head_width: int) -> float:
        """What scores are multiplied by."""
        return scale_of(head_width)


class PlainProducts(ScaledProducts):
    """softmax(Q K^T): the scores of wide heads are large, and the softmax is nearly the choice of one key."""

    def scale(self, head_width: int) -> float:
        return 1.0


class RectifiedProducts(ScaledProducts):
    """max(0, Q K^T / sqrt(d_k)), divided by the number of keys (Wortsman et al. 2023, section 3)."""

    @property
    def weight_function(self) -> WeightFunction:
        return rectified_weights


def rectified_weights(query: Queries, key: Keys, mask: Mask, scale: float, bias: Bias | None = None) -> Scores:
    """Of the keys that may be attended. A row may add up to any number; where all scores are negative it is zeros.

    Divided by their sum rows would add up to 1, but where that sum is next to nothing the smallest rounding would
    turn a row over.
    """
    scores = attention_scores(query, key, scale, bias)
    allowed = mask.boolean(query.shape[-2], key.shape[-2], query.device)
    if allowed is None:
        return scores.relu() / key.shape[-2]
    count = allowed.expand(*allowed.shape[:-1], key.shape[-2]).sum(dim=-1, keepdim=True).clamp(min=1)
    return masked_scores(scores, allowed, fill=0.0).relu() / count


class LinearProducts(ScaledProducts):
    """phi(q)^T phi(k), divided by its sum over the keys (Katharopoulos et al. 2020, equation 4).

    Kernels compute what they give by sums (`kernels/linear.py`).
    """

    @property
    def weight_function(self) -> WeightFunction:
        return linear.weights


class AdditiveScores(ScaledProducts):
    """softmax(v^T tanh(W_q q + W_k k)), a v of its own for each head (Bahdanau, Cho and Bengio 2015, section 3.1).

    W_q and W_k are the attention's own projections of queries and keys. All sums of a query and a key are in memory,
    so it is for short sequences.
    """

    def __init__(self, heads: int, head_width: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads, head_width)))  # v

    @property
    def weight_function(self) -> WeightFunction:
        return self.weights

    def scores(self, query: Queries, key: Keys) -> Scores:
        """v^T tanh(q + k) of each query and key."""
        inner = torch.tanh(query[:, :, :, None] + key[:, :, None])
        return (inner @ self.vector[:, None, :, None]).squeeze(-1)

    def weights(self, query: Tensor, key: Tensor, mask: Mask, scale: float, bias: Tensor | None = None) -> Scores:
        """A row adds up to 1, and is zeros where nothing may be attended."""
        scores = self.scores(query, key)
        scores = scores if bias is None else scores + bias.to(scores.dtype)
        return softmax_over(scores, mask.boolean(query.shape[-2], key.shape[-2], query.device))


@dataclass(frozen=True)
class Heads:
    """The heads of one attention.

    Args:
        count: h.
        width: d_k, the width of a query and of a key, free of the stream's width / h.
        value_width: d_v, likewise.
        key_value_count: heads of keys and values; each is shared by count / key_value_count heads of queries (Ainslie
            et al. 2023; 1 is Shazeer's multi-query attention, 2019). None: as many as there are queries, the paper's.
    """

    count: int
    width: int
    value_width: int
    key_value_count: int | None = None


class KernelAttention(nn.Module):
    """An attention with a kernel, which can be replaced to record or compare it."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel


class MultiHeadAttention(KernelAttention):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    The h projections of one kind are one matrix, so that one product makes all heads.

    Args:
        width: d_model, the width of what comes in and, unless `output_width` says otherwise, goes out.
        heads: how many, and how wide.
        bias: adds a bias to the four projections; the paper's formulas have none.
        weight_dropout: drops attention weights while training; not in the paper.
        kernel: computes equation 1.
        distances: how scores depend on the distance; the paper's do not.
        pattern: which pairs of positions of a long text there are; None: the paper's, all.
    """

    weighs_tokens: bool = True  # whether there is a weight for each query and each token that it has read

    def __init__(
        self,
        width: int,
        heads: Heads,
        *,
        output_width: int | None = None,
        bias: bool = False,
        weight_dropout: float = 0.0,
        kernel: Kernel = fused.attention,
        distances: Distances | None = None,
        pattern: Pattern | None = None,
    ) -> None:
        super().__init__(kernel)
        self.pattern = pattern
        shared = heads.key_value_count or heads.count
        self.heads = heads
        self.use_score_function(ScaledProducts())
        self.weight_dropout = weight_dropout
        self.query = nn.Linear(width, heads.count * heads.width, bias=bias)  # W^Q
        self.key = nn.Linear(width, shared * heads.width, bias=bias)  # W^K
        self.value = nn.Linear(width, shared * heads.value_width, bias=bias)  # W^V
        self.output = nn.Linear(heads.count * heads.value_width, output_width or width, bias=bias)  # W^O
        self.distances = distances or NoDistances()

    def use_score_function(self, function: ScaledProducts) -> None:
        """Replaces the paper's score function."""
        self.weighing = function
        self.scale = function.scale(self.heads.width)

    @staticmethod
    def split(x: Tensor, each: int) -> Tensor:
        """(batch, position, head * each) -> (batch, head, position, each)"""
        return x.unflatten(-1, (-1, each)).transpose(1, 2)

    @staticmethod
    def join(heads: Tensor) -> Tensor:
        """Concat(head_1, ..., head_h): (batch, head, position, each) -> (batch, position, head * each)"""
        return heads.transpose(1, 2).flatten(-2)

    def queries(self, x: Float[Tensor, "batch query width"], first: int = 0) -> Tensor:
        """Q W^Q for all heads; x begins at position `first`."""
        return self.distances.rotate(self.split(self.query(x), self.heads.width), first)

    def keys_values(self, x: Float[Tensor, "batch key width"], first: int = 0) -> KeyValue:
        """K W^K and V W^V for all heads; x begins at position `first`."""
        key, value = self.projected(x)
        key = self.split(key, self.heads.width)
        return KeyValue(self.distances.rotate(key, first), self.split(value, self.heads.value_width))

    def projected(self, x: Float[Tensor, "batch key width"]) -> tuple[Tensor, ...]:
        """K W^K and V W^V, of all heads side by side."""
        return self.key(x), self.value(x)

    def grow(self, past: Any, x: Float[Tensor, "batch key width"], mask: Mask) -> Any:
        """The keys and values of the positions so far (None: there are none) and of `x`, which follow them."""
        return extend(past, self.keys_values(x, 0 if past is None else past.size))

    def forward(
        self, x: Float[Tensor, "batch query width"], keys_values: KeyValue, mask: Mask
    ) -> Float[Tensor, "batch query output_width"]:
        """Each position of `x`, the end of its sequence, attends to positions of its own sequence or of another."""
        dropout = self.weight_dropout if self.training else 0.0
        query = self.queries(x, keys_values.size - x.shape[1])
        bias = self.distances.bias(query, keys_values.size, self.scale)
        shared = keys_values.for_heads(self.heads.count)
        mask = mask if self.pattern is None else replace(mask, pattern=self.pattern)
        own = {} if self.weighing.weight_function is None else {"weight_function": self.weighing.weight_function}
        heads = self.kernel(query, shared.key, shared.value, mask, self.scale, dropout, bias, **own)
        return self.output(self.join(heads))

    def packing_problem(self) -> str | None:
        """Why the kernel for packed rows cannot compute it; None: it can."""
        if not isinstance(self.distances, NoDistances | Rotary):
            return msg("these positions add a number to each score, which the kernel for packed rows cannot")
        if self.weighing.weight_function is not None:
            return msg("the kernel for packed rows has the softmax of dot products alone")
        if self.pattern is not None or not self.weighs_tokens:
            return msg("the kernel for packed rows computes all pairs of a sentence's tokens")
        if self.weight_dropout > 0:
            return msg("the kernel for packed rows has no dropout of attention weights")
        if not packed.fits(self.heads.width, self.heads.value_width):
            return msg(f"the kernel for packed rows takes heads of 8, 16, ... {packed.WIDEST} numbers")
        return None


def first_packing_problem(model: nn.Module) -> str | None:
    """That of the first attention in the model that has one."""
    attentions = (module for module in model.modules() if isinstance(module, MultiHeadAttention))
    return next((problem for attention in attentions if (problem := attention.packing_problem())), None)
