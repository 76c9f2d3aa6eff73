"""Additive attention (Bahdanau, Cho and Bengio 2015, section 3.1 and appendix A.1.2)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


def additive_scores(
    queries: Float[Tensor, "batch query inner"], keys: Float[Tensor, "batch key inner"], v: Float[Tensor, "inner"]
) -> Float[Tensor, "batch query key"]:
    """score(q, k) = v^T tanh(W_q q + W_k k), of queries and keys that are projected already."""
    return torch.tanh(queries[:, :, None, :] + keys[:, None, :, :]) @ v


def masked_softmax(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch #query key"]
) -> Float[Tensor, "batch query key"]:
    """Weights that sum to 1 over the keys a query may attend to; a query that may attend to none has weights 0."""
    # The lowest finite number and not -inf: where all keys are masked, -inf would give NaN in the gradient.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)


class AdditiveAttention(nn.Module):
    """Weighs values by a small network with one hidden layer that compares a query with each key."""

    def __init__(self, query_width: int, key_width: int, inner: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, inner, bias=False)  # W_q, the paper's W_a
        self.key = nn.Linear(key_width, inner, bias=False)  # W_k, the paper's U_a
        self.score = nn.Linear(inner, 1, bias=False)  # v, the paper's v_a

    def keys(self, memory: Float[Tensor, "batch key key_width"]) -> Float[Tensor, "batch key inner"]:
        """W_k k of each key: they do not depend on the query, so they are computed once for all steps."""
        return self.key(memory)

    def forward(
        self,
        query: Float[Tensor, "batch query query_width"],
        keys: Float[Tensor, "batch key inner"],
        values: Float[Tensor, "batch key value_width"],
        mask: Bool[Tensor, "batch 1 1 key"],
    ) -> tuple[Float[Tensor, "batch query value_width"], Float[Tensor, "batch query key"]]:
        """The weighted sum of the values for each query (zeros where it may attend to nothing), and the weights.

        `keys` come from the method of this name; True in the mask means *may attend*.
        """
        scores = additive_scores(self.query(query), keys, self.score.weight[0])
        weights = masked_softmax(scores, mask[:, 0])
        return weights @ values, weights
