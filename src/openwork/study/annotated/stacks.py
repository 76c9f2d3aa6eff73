"""Encoder and decoder by 001's names. Layers call the parts that they hold, so each part can be replaced or watched."""

from copy import deepcopy

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.masks import Mask
from openwork.study.annotated.attention import MultiHeadAttention
from openwork.study.annotated.masks import of_target
from openwork.study.annotated.sublayers import FeedForward, LayerNorm, ResidualConnection


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

    def forward(
        self, x: Float[Tensor, "batch position width"], mask: Tensor | Mask | None
    ) -> Float[Tensor, "batch position width"]:
        x = self.sub1(x, lambda x: self.self_attn(x, x, x, mask))
        return self.sub2(x, self.feed_forward)


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

    def forward(
        self,
        x: Float[Tensor, "batch target width"],
        memory: Float[Tensor, "batch source width"],
        src_mask: Tensor | Mask | None,
        tgt_mask: Tensor | Mask | None,
    ) -> Float[Tensor, "batch target width"]:
        x = self.sub1(x, lambda x: self.self_attn(x, x, x, of_target(tgt_mask)))
        x = self.sub2(x, lambda x: self.src_attn(x, memory, memory, src_mask))
        return self.sub3(x, self.feed_forward)


class Encoder(nn.Module):
    """`n` copies of a layer, one after the other, and a norm, which pre-norm needs and the paper's post-norm does not.

    The copies begin with the same weights; `make_model` draws new ones for each. A layer has a `size` and takes what
    `EncoderLayer` takes; any such module will do.
    """

    def __init__(self, layer: nn.Module, n: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(n))
        self.norm = LayerNorm(layer.size)  # type: ignore[arg-type]

    def forward(
        self, x: Float[Tensor, "batch position width"], mask: Tensor | Mask | None
    ) -> Float[Tensor, "batch position width"]:
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """`n` copies of a layer, one after the other, and a norm; masks as in `DecoderLayer`, copies as in `Encoder`."""

    def __init__(self, layer: nn.Module, n: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(n))
        self.norm = LayerNorm(layer.size)  # type: ignore[arg-type]

    def forward(
        self,
        x: Float[Tensor, "batch target width"],
        memory: Float[Tensor, "batch source width"],
        src_mask: Tensor | Mask | None,
        tgt_mask: Tensor | Mask | None,
    ) -> Float[Tensor, "batch target width"]:
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.norm(x)
