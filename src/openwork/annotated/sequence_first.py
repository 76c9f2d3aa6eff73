"""The encoder of 003 by its names. Its tensors are (position, batch, width); ours never are, so each call turns them.

A mask follows torch, the opposite of 001: True hides, and so does a number of -1e9 or less that is added to the score.
"""

from copy import deepcopy
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from openwork.annotated import embedding
from openwork.annotated.masks import of_framework
from openwork.nn import encoder
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.initialise import initialise
from openwork.nn.normalisation import layer_norm
from openwork.nn.residual import PostNorm

TORCH_EPSILON = 1e-5  # of torch's layer norm, which 003 takes as it is


class PositionalEncoding(embedding.PositionalEncoding):
    """Adds the sinusoids of the positions to x (position, batch, d_model), then dropout.

    Departs from 003 as 001's departs from 001: any length, any width, exact values.
    """

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__(d_model, dropout, max_len)

    @property
    def pe(self) -> Float[Tensor, "position 1 width"]:
        """The table as 003 keeps it, a batch of one."""
        return self.table[:, None]

    def forward(
        self, x: Float[Tensor, "position batch width"], first: int = 0
    ) -> Float[Tensor, "position batch width"]:
        """`first` is the position of x's first token in its sentence."""
        return super().forward(x.transpose(0, 1), first).transpose(0, 1)


class TransformerEncoderLayer(nn.Module):
    """The paper's post-norm layer with biases everywhere, equal to torch's layer of the same name.

    Departs from 003: its attention is ours, not `torch.nn.MultiheadAttention`, so the weights have other names; first
    values are those of `nn.initialise`; a width that `nhead` does not divide has narrower heads; a query that may look
    at nothing gets zeros instead of NaN; an additive mask may hide and nothing else.
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1) -> None:
        super().__init__()
        width = max(1, d_model // nhead)
        norm = partial(layer_norm, epsilon=TORCH_EPSILON)
        self.self_attn = MultiHeadAttention(d_model, Heads(nhead, width, width), bias=True, weight_dropout=dropout)
        self.feed_forward = FeedForward(d_model, dim_feedforward, dropout)
        self.sub1 = PostNorm(d_model, dropout, norm)
        self.sub2 = PostNorm(d_model, dropout, norm)
        initialise(self)

    @property
    def ours(self) -> encoder.EncoderLayer:
        """These parts as a layer of ours."""
        return encoder.EncoderLayer(self.self_attn, self.feed_forward, (self.sub1, self.sub2))

    @property
    def linear1(self) -> nn.Linear:
        """W_1 and b_1."""
        return self.feed_forward.expand

    @property
    def linear2(self) -> nn.Linear:
        """W_2 and b_2."""
        return self.feed_forward.contract

    @property
    def norm1(self) -> nn.Module:
        """The norm behind the attention."""
        return self.sub1.norm

    @property
    def norm2(self) -> nn.Module:
        """The norm behind the feed-forward network."""
        return self.sub2.norm

    def forward(
        self, src: Float[Tensor, "position batch width"], src_mask: Tensor | None = None
    ) -> Float[Tensor, "position batch width"]:
        """`src_mask` is (query, key) or (batch * heads, query, key); True, or -1e9 and less, hides."""
        mask = of_framework(src_mask, self.self_attn.heads.count)
        return self.ours(src.transpose(0, 1), mask).transpose(0, 1)


class TransformerEncoder(nn.Module):
    """`num_layers` copies of a layer, one after the other, and no norm behind the last, which ends with one.

    The copies begin with the same weights, as in 003 and in torch.
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers

    @property
    def ours(self) -> encoder.Encoder:
        """These layers as an encoder of ours."""
        return encoder.Encoder([layer.ours for layer in self.layers], nn.Identity())  # type: ignore[misc]

    def forward(
        self, src: Float[Tensor, "position batch width"], mask: Tensor | None = None
    ) -> Float[Tensor, "position batch width"]:
        described = of_framework(mask, self.layers[0].self_attn.heads.count)  # type: ignore[union-attr]
        return self.ours(src.transpose(0, 1), described).transpose(0, 1)
