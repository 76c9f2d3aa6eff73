"""Score functions of attention: how weights follow from queries and keys, by equation 1 of the paper or others.

Each kernel computes the two that are a softmax over dot products. The others have a formula of their own,
`weight_function`, which replaces the kernel's.
"""

import torch
from torch import Tensor, nn

from openwork.nn.kernels import WeightFunction, scale_of
from openwork.nn.kernels.reference import attention_scores, masked_scores, softmax_over
from openwork.nn.masks import Mask
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
