"""The decoder without an encoder: masked self-attention and feed-forward (Radford et al. 2018, section 3.1)."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.cache import KeyValue, extend
from openwork.nn.masks import CAUSAL, Mask
from openwork.nn.residual import SublayerConnection
from openwork.nn.shapes import Vectors


class CausalLayer(nn.Module):
    """Masked self-attention, then the feed-forward network, each with its residual connection."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feedforward: nn.Module,
        wirings: tuple[SublayerConnection, SublayerConnection],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feedforward = feedforward
        self.self_wiring, self.feedforward_wiring = wirings

    def forward(
        self, x: Vectors, past: KeyValue | None = None, mask: Mask = CAUSAL
    ) -> tuple[Float[Tensor, "batch position after"], KeyValue]:
        """`x` holds the positions after those in `past`; returns them, and the keys and values that include them.

        `mask` describes which of all these positions attend to which.
        """
        inside = self.self_wiring.before(x)
        past = extend(past, self.self_attention.keys_values(inside, 0 if past is None else past.size))
        x = self.self_wiring.after(x, self.self_attention(inside, past, mask))
        inside = self.feedforward_wiring.before(x)
        return self.feedforward_wiring.after(x, self.feedforward(inside)), past


class CausalStack(nn.Module):
    """N layers one after the other, closed by `final_norm` (nothing with post-norm)."""

    def __init__(self, layers: Sequence[CausalLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(
        self, x: Float[Tensor, "batch position first"], pasts: Sequence[KeyValue | None], mask: Mask = CAUSAL
    ) -> tuple[Vectors, tuple[KeyValue, ...]]:
        """Keys and values of each layer come and go beside x; None where there is no past."""
        grown = []
        for layer, past in zip(self.layers, pasts, strict=True):
            x, now = layer(x, past, mask)
            grown.append(now)
        return self.final_norm(x), tuple(grown)
