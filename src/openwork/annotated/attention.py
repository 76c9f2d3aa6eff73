"""Attention by 001's names."""

from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from openwork.annotated.masks import FILL, of_positions, of_scores
from openwork.nn import attention
from openwork.nn.attention import Heads
from openwork.nn.cache import KeyValue
from openwork.nn.kernels import Weigh, reference, scale_of
from openwork.nn.masks import Mask


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V, with or without axes for the batch and the heads.

    Where `mask` is 0, `fill` takes the place of the score: 001's -1e9, or -inf. Both give the same weights, to the last
    bit, wherever a query has something to look at.

    Departs from 001: it is a module, so that `eval()` ends its dropout. A query that may look at nothing gets zeros:
    there, -1e9 spreads its attention evenly over all that is hidden, and -inf gives NaN. Where the numbers cannot hold
    -1e9, in half precision, their lowest stands in for it; there, it is an error.
    """

    def __init__(self, dropout: float = 0.0, *, fill: float = FILL) -> None:
        super().__init__()
        self.dropout = dropout
        self.fill = fill

    def kernel(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
        bias: Tensor | None = None,
        weigh: Weigh | None = None,
    ) -> Tensor:
        """The reference kernel with this fill, for an attention with heads."""
        weigh = weigh or partial(reference.attention_weights, fill=self.fill)
        return reference.attention(query, key, value, mask, scale, dropout, bias, weigh)

    def forward(
        self,
        query: Float[Tensor, "*batch query width"],
        key: Float[Tensor, "*batch key width"],
        value: Float[Tensor, "*batch key value_width"],
        mask: Tensor | None = None,
    ) -> Float[Tensor, "*batch query value_width"]:
        """`mask`, of zeros and others, is broadcast against the scores (*batch, query, key)."""
        missing = 4 - query.dim()  # the kernel's axes are (batch, head, position, width)
        query, key, value = (x[(None,) * missing] for x in (query, key, value))
        dropout = self.dropout if self.training else 0.0
        return self.kernel(query, key, value, of_scores(mask), scale_of(query.shape[-1]), dropout)[(0,) * missing]


class MultiHeadAttention(nn.Module):
    """h attentions side by side, each on its own projections of width d_k, and W^O over all their outputs.

    As in 001, the three projections have a bias and W^O has none; the paper's formulas have none at all.

    Departs from 001: `linears` are the three that are used (the fourth there computes nothing, nor does its `dropout`,
    here the rate of `attn`). A width that h does not divide has heads of width d_model // h, at least 1; there, it is
    an error. Masks hide keys at any batch size; there, a mask (batch, key) meets the axis of the heads: two sentences
    are an error, and of eight each head silently gets the mask of another sentence.
    """

    def __init__(self, h: int = 8, d_model: int = 512, dropout: float = 0.1, *, fill: float = FILL) -> None:
        super().__init__()
        self.h = h
        self.d_k = max(1, d_model // h)
        self.lindim = (d_model, h * self.d_k)
        self.attn = Attention(dropout, fill=fill)
        self.ours = attention.MultiHeadAttention(
            d_model, Heads(h, self.d_k, self.d_k), bias=True, weight_dropout=dropout, kernel=self.attn.kernel
        )
        self.ours.output = nn.Linear(h * self.d_k, d_model, bias=False)

    @property
    def linears(self) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
        """W^Q, W^K and W^V of all heads."""
        return self.ours.query, self.ours.key, self.ours.value

    @property
    def final_linear(self) -> nn.Linear:
        """W^O."""
        return self.ours.output

    @property
    def dropout(self) -> float:
        """The rate at which weights are dropped in training."""
        return self.attn.dropout

    def forward(
        self,
        query: Float[Tensor, "batch query width"],
        key: Float[Tensor, "batch key width"],
        value: Float[Tensor, "batch key width"],
        mask: Tensor | Mask | None = None,
    ) -> Float[Tensor, "batch query width"]:
        """`mask` is (batch, key), (batch, query, key) or (batch, head, query, key); 0 hides."""
        asked = self.ours.keys_values(key)
        if value is not key:
            asked = KeyValue(asked.key, self.ours.keys_values(value).value)
        return self.ours(query, asked, of_positions(mask))
