"""The encoder: a stack of self-attention and feed-forward layers (section 3.1 of the paper)."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.masks import Mask
from openwork.nn.residual import SublayerConnection
from openwork.nn.shapes import Vectors


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with its residual connection."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feedforward: nn.Module,
        wirings: tuple[SublayerConnection, SublayerConnection],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feedforward = feedforward
        self.attention_wiring, self.feedforward_wiring = wirings

    def forward(self, x: Vectors, mask: Mask) -> Float[Tensor, "batch position after"]:
        inside = self.attention_wiring.before(x)
        keys_values = self.self_attention.keys_values(inside)
        x = self.attention_wiring.after(x, self.self_attention(inside, keys_values, mask))
        inside = self.feedforward_wiring.before(x)
        return self.feedforward_wiring.after(x, self.feedforward(inside))


class Encoder(nn.Module):
    """N layers one after the other, closed by `final_norm` (nothing with post-norm)."""

    def __init__(self, layers: Sequence[EncoderLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, x: Float[Tensor, "batch position first"], mask: Mask) -> Vectors:
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)
