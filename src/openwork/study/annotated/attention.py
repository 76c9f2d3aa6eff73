"""Attention by 001's names, and the documents' masks as descriptions that kernels read.

In a mask of 001 zero hides; in 003 True hides, as in torch.
"""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.nn.attention import MultiHeadAttention as Heads
from openwork.nn.dropout import Dropout
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention_scores, masked_scores, weighted_sum
from openwork.nn.masks import EVERYTHING, Mask

FILL = -1e9  # what 001 puts in the place of a hidden score
AnyMask = Tensor | Mask | None


def of_scores(mask: Tensor | None) -> Mask:
    """A mask (..., query, key) that is broadcast against the scores as it is, four axes at most."""
    return EVERYTHING if mask is None else Mask(allowed=mask[(None,) * (4 - mask.dim())] != 0)


def of_positions(mask: AnyMask) -> Mask:
    """A mask (batch, key), (batch, query, key) or (batch, head, query, key); a batch of 1 serves all sentences.

    None hides nothing, and a description is taken as it is. ConfigError for any other number of axes.
    """
    if mask is None or isinstance(mask, Mask):
        return mask or EVERYTHING
    if not 2 <= mask.dim() <= 4:
        raise ConfigError(
            f"a mask of {mask.dim()} axes does not say whom it hides from whom",
            why="a mask is (batch, key), (batch, query, key) or (batch, head, query, key)",
            hint="for one sentence, put a batch of one before its positions: mask[None]",
            code="C001",
        )
    if mask.dim() == 2:
        mask = mask[:, None]
    return of_scores(mask[:, None] if mask.dim() == 3 else mask)


def of_target(mask: AnyMask) -> Mask:
    """The mask of a decoder's own positions, which shows the future only where a mask says so.

    A mask without a row for each query, None among them, is joined with the causal one. One that has a row for each
    query says all there is to say, and so does a description.
    """
    described = of_positions(mask)
    says_all = isinstance(mask, Mask) or (described.allowed is not None and described.allowed.shape[-2] > 1)
    return described if says_all else replace(described, is_causal=True)


def of_framework(mask: Tensor | None, heads: int) -> Mask:
    """A mask as torch wants it, (query, key) or (batch * heads, query, key): True hides, or -1e9 and less added to it.

    ConfigError for numbers in between: they would shift scores instead of hiding them.
    """
    if mask is None:
        return EVERYTHING
    hidden = mask <= FILL if mask.is_floating_point() else mask
    if hidden.dtype is not torch.bool or not (hidden | (mask == 0)).all():
        raise ConfigError(
            "this mask holds neither booleans nor numbers that hide",
            why="here True hides; a number is added to the score, and only 0, or -1e9 and less, shows or hides a key",
            hint="of ones for what is shown and zeros for what is hidden, give mask == 0",
            code="C002",
        )
    return of_scores(~(hidden if hidden.dim() == 2 else hidden.unflatten(0, (-1, heads))))


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
        mask: AnyMask = None,
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
        mask: AnyMask = None,
    ) -> Float[Tensor, "batch query width"]:
        """`mask` is (batch, key), (batch, query, key) or (batch, head, query, key); 0 hides."""
        heads = [Heads.split(linear(x), self.d_k) for linear, x in zip(self.linears, (query, key, value), strict=True)]
        return self.final_linear(Heads.join(self.attn(*heads, of_positions(mask))))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any, **named: Any) -> None:
        """001's fourth projection is left out."""
        for name in ("weight", "bias"):
            state_dict.pop(f"{prefix}linears.3.{name}", None)
        super()._load_from_state_dict(state_dict, prefix, *others, **named)
