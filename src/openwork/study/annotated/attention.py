"""Attention by 001's names."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention as Heads
from openwork.nn.dropout import Dropout
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention_scores, masked_scores, weighted_sum
from openwork.nn.masks import Mask
from openwork.study.annotated.masks import FILL, of_positions, of_scores


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V, with or without axes for the batch and the heads.

    Where `mask` is 0, `fill` takes the place of the score: 001's -1e9, or -inf. Both give the same weights, to the last
    bit, wherever a query may attend to something.

    Departs from 001: it is a module, so that `eval()` ends its dropout. A query that may attend to nothing gets zeros:
    there, -1e9 spreads its attention evenly over all that is hidden, and -inf gives NaN. Where the numbers cannot hold
    -1e9, in half precision, their lowest replaces it; there, it is an error.
    """

    def __init__(self, dropout: float = 0.0, *, fill: float = FILL) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.softmax = nn.Softmax(dim=-1)
        self.fill = fill

    def forward(
        self,
        query: Float[Tensor, "*batch query width"],
        key: Float[Tensor, "*batch key width"],
        value: Float[Tensor, "*batch key value_width"],
        mask: Tensor | Mask | None = None,
    ) -> Float[Tensor, "*batch query value_width"]:
        """`mask`, of zeros and others, is broadcast against the scores (*batch, query, key)."""
        missing = 4 - query.dim()  # the axes of the formulas are (batch, head, position, width)
        query, key, value = (x[(None,) * missing] for x in (query, key, value))
        described = mask if isinstance(mask, Mask) else of_scores(mask)
        allowed = described.boolean(query.shape[-2], key.shape[-2], query.device)
        scores = attention_scores(query, key, scale_of(query.shape[-1]))
        if allowed is not None:
            scores = masked_scores(scores, allowed, self.fill)
        weights = self.softmax(scores)
        if allowed is not None:
            weights = weights.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)
        return weighted_sum(self.dropout(weights), value)[(0,) * missing]


class MultiHeadAttention(nn.Module):
    """h attentions side by side, each on its own projections of width d_k, and W^O over all their outputs.

    As in 001, the three projections have a bias and W^O has none; the paper's formulas have none at all.

    Departs from 001: `linears` are the three that are used. The fourth there computes nothing, nor does its `dropout`;
    here `dropout` is that of `attn`. Saved weights of 001 are loaded without `linears.3`. Where h does not divide the
    width, heads have the width d_model // h, at least 1; there, it is an error. Masks hide keys at any batch size;
    there, a mask (batch, key) meets the axis of the heads: two sentences are an error, and of eight each head silently
    gets the mask of another sentence.
    """

    def __init__(self, h: int = 8, d_model: int = 512, dropout: float = 0.1, *, fill: float = FILL) -> None:
        super().__init__()
        self.h = h
        self.d_k = max(1, d_model // h)
        self.lindim = (d_model, h * self.d_k)
        self.attn = Attention(dropout, fill=fill)
        self.linears = nn.ModuleList(nn.Linear(*self.lindim) for _ in range(3))  # W^Q, W^K and W^V of all heads
        self.final_linear = nn.Linear(h * self.d_k, d_model, bias=False)  # W^O

    @property
    def dropout(self) -> Dropout:
        """What drops attention weights in training."""
        return self.attn.dropout

    def forward(
        self,
        query: Float[Tensor, "batch query width"],
        key: Float[Tensor, "batch key width"],
        value: Float[Tensor, "batch key width"],
        mask: Tensor | Mask | None = None,
    ) -> Float[Tensor, "batch query width"]:
        """`mask` is (batch, key), (batch, query, key) or (batch, head, query, key); 0 hides."""
        heads = [Heads.split(linear(x), self.d_k) for linear, x in zip(self.linears, (query, key, value), strict=True)]
        return self.final_linear(Heads.join(self.attn(*heads, of_positions(mask))))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any, **named: Any) -> None:
        """001's fourth projection is left out."""
        for name in ("weight", "bias"):
            state_dict.pop(f"{prefix}linears.3.{name}", None)
        super()._load_from_state_dict(state_dict, prefix, *others, **named)
