"""The encoder of 003 by its names. Its tensors are (position, batch, width), which each call transposes.

A mask follows torch, the opposite of 001: True hides, and so does a number of -1e9 or less that is added to the score.
"""

import math
from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import initialise
from openwork.nn.masks import Mask
from openwork.nn.normalisation import layer_norm
from openwork.nn.shapes import Vectors
from openwork.study.annotated import model
from openwork.study.annotated.attention import Attention, of_framework

SequenceFirst = Float[Tensor, "position batch width"]
TORCH_EPSILON = 1e-5  # of torch's layer norm, which 003 takes as it is


class PositionalEncoding(model.PositionalEncoding):
    """Adds the sinusoids of the positions to x (position, batch, d_model), then dropout.

    Departs from 003 as 001's departs from 001: any length, any width, exact values.
    """

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__(d_model, dropout, max_len)

    @property
    def pe(self) -> Float[Tensor, "position 1 width"]:
        """The first `max_len` rows of the table as 003 keeps it, a batch of one."""
        return self.table[: self.max_len, None]

    def forward(self, x: SequenceFirst, first: int = 0) -> SequenceFirst:
        return super().forward(x.transpose(0, 1), first).transpose(0, 1)


class SelfAttention(nn.Module):
    """Multi-head self-attention with biases, its weights named as in `torch.nn.MultiheadAttention`."""

    def __init__(self, d_model: int, nhead: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = nhead
        self.head_dim = max(1, d_model // nhead)
        inner = nhead * self.head_dim
        self.in_proj_weight = nn.Parameter(torch.empty(3 * inner, d_model))  # W^Q, W^K and W^V of all heads
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * inner))
        self.out_proj = nn.Linear(inner, d_model)  # W^O
        self.attn = Attention(dropout, fill=-math.inf)
        for matrix in self.in_proj_weight.detach().chunk(3):
            nn.init.xavier_uniform_(matrix)

    def forward(self, x: Vectors, mask: Mask) -> Vectors:
        projected = functional.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        heads = [MultiHeadAttention.split(part, self.head_dim) for part in projected]
        return self.out_proj(MultiHeadAttention.join(self.attn(*heads, mask)))


class TransformerEncoderLayer(nn.Module):
    """The paper's post-norm layer with biases everywhere, equal to torch's layer of the same name.

    Its weights have the names of 003 and of torch. Departs from 003: its attention is ours, not
    `torch.nn.MultiheadAttention`; first values are those of `nn.embedding.initialise`; a width that `nhead` does not
    divide has narrower heads; a query that may attend to nothing gets zeros instead of NaN; an additive mask may hide
    and nothing else.
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attn = SelfAttention(d_model, nhead, dropout)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.dropout = Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = layer_norm(d_model, TORCH_EPSILON)
        self.norm2 = layer_norm(d_model, TORCH_EPSILON)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        initialise(self)

    def forward(self, src: SequenceFirst, src_mask: Tensor | None = None) -> SequenceFirst:
        """`src_mask` is (query, key) or (batch * heads, query, key); True, or -1e9 and less, hides."""
        attended = self.self_attn(src.transpose(0, 1), of_framework(src_mask, self.self_attn.num_heads))
        src = self.norm1(src + self.dropout1(attended.transpose(0, 1)))
        inner = self.linear2(self.dropout(functional.relu(self.linear1(src))))
        return self.norm2(src + self.dropout2(inner))


class TransformerEncoder(nn.Module):
    """`num_layers` copies of a layer, one after the other, and no norm behind the last, which ends with one.

    The copies begin with the same weights, as in 003 and in torch. Any module that takes (src, src_mask=...) will do.
    """

    def __init__(self, encoder_layer: nn.Module, num_layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers

    def forward(self, src: SequenceFirst, mask: Tensor | None = None) -> SequenceFirst:
        for layer in self.layers:
            src = layer(src, src_mask=mask)
        return src
