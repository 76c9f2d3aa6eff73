"""Encoder and decoder by 001's names.

Each class holds its parts under the document's names. `ours` puts them together as our layer or stack, which costs some
microseconds a call, and computes them: so a part that is exchanged later is heeded, as long as it is of these classes.
"""

from copy import deepcopy
from typing import Generic, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from openwork.annotated.attention import MultiHeadAttention
from openwork.annotated.masks import of_positions, of_target
from openwork.annotated.sublayers import FeedForward, LayerNorm, ResidualConnection
from openwork.nn import decoder, encoder
from openwork.nn.masks import Mask

Layer = TypeVar("Layer", bound="EncoderLayer | DecoderLayer")


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each in a residual connection of its own."""

    def __init__(
        self, size: int, self_attn: MultiHeadAttention, feed_forward: FeedForward, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.sub1 = ResidualConnection(size, dropout)
        self.sub2 = ResidualConnection(size, dropout)

    @property
    def ours(self) -> encoder.EncoderLayer:
        """These parts as a layer of ours."""
        return encoder.EncoderLayer(self.self_attn.ours, self.feed_forward, (self.sub1, self.sub2))

    def forward(
        self, x: Float[Tensor, "batch position width"], mask: Tensor | Mask | None
    ) -> Float[Tensor, "batch position width"]:
        return self.ours(x, of_positions(mask))


class DecoderLayer(nn.Module):
    """Self-attention, attention to the memory, the feed-forward network, each in a residual connection of its own.

    Departs from 001: a `tgt_mask` that is about padding alone is joined with the causal mask; there, every position
    sees what it is to predict. To show the future, give a mask (batch, query, key) with a row for each query.
    """

    def __init__(
        self,
        size: int,
        self_attn: MultiHeadAttention,
        src_attn: MultiHeadAttention,
        feed_forward: FeedForward,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.src_attn = src_attn
        self.feed_forward = feed_forward
        self.sub1 = ResidualConnection(size, dropout)
        self.sub2 = ResidualConnection(size, dropout)
        self.sub3 = ResidualConnection(size, dropout)

    @property
    def ours(self) -> decoder.DecoderLayer:
        """These parts as a layer of ours."""
        wirings = (self.sub1, self.sub2, self.sub3)
        return decoder.DecoderLayer(self.self_attn.ours, self.src_attn.ours, self.feed_forward, wirings)

    def forward(
        self,
        x: Float[Tensor, "batch target width"],
        memory: Float[Tensor, "batch source width"],
        src_mask: Tensor | Mask | None,
        tgt_mask: Tensor | Mask | None,
    ) -> Float[Tensor, "batch target width"]:
        ours = self.ours
        return ours(x, ours.start(memory), of_positions(src_mask), of_target(tgt_mask))[0]


class _Stack(nn.Module, Generic[Layer]):
    """`n` copies of a layer and a norm behind the last, which pre-norm needs; the paper's post-norm has none there."""

    def __init__(self, layer: Layer, n: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(n))
        self.norm = LayerNorm(layer.size)


class Encoder(_Stack[EncoderLayer]):
    """`n` copies of a layer, one after the other, then a norm.

    The copies begin with the same weights; `make_model` draws new ones for each.
    """

    @property
    def ours(self) -> encoder.Encoder:
        """These parts as an encoder of ours."""
        return encoder.Encoder([layer.ours for layer in self.layers], self.norm)  # type: ignore[misc]

    def forward(
        self, x: Float[Tensor, "batch position width"], mask: Tensor | Mask | None
    ) -> Float[Tensor, "batch position width"]:
        return self.ours(x, of_positions(mask))


class Decoder(_Stack[DecoderLayer]):
    """`n` copies of a layer, one after the other, then a norm; masks as in `DecoderLayer`.

    The copies begin with the same weights; `make_model` draws new ones for each.
    """

    @property
    def ours(self) -> decoder.Decoder:
        """These parts as a decoder of ours."""
        return decoder.Decoder([layer.ours for layer in self.layers], self.norm)  # type: ignore[misc]

    def forward(
        self,
        x: Float[Tensor, "batch target width"],
        memory: Float[Tensor, "batch source width"],
        src_mask: Tensor | Mask | None,
        tgt_mask: Tensor | Mask | None,
    ) -> Float[Tensor, "batch target width"]:
        ours = self.ours
        return ours(x, ours.start(memory), of_positions(src_mask), of_target(tgt_mask))[0]
