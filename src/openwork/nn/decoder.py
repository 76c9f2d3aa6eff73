"""The decoder: masked self-attention, attention to the memory, feed-forward (section 3.1 of the paper)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.cache import KeyValue, Selectable, extend
from openwork.nn.masks import CAUSAL, Mask
from openwork.nn.residual import SublayerConnection
from openwork.nn.shapes import Vectors


@dataclass(frozen=True)
class LayerCache(Selectable):
    """What one decoder layer needs again: the memory's keys and values, and those of the positions so far."""

    memory: KeyValue
    past: KeyValue | None = None

    @property
    def position(self) -> int:
        """The position of the next token."""
        return 0 if self.past is None else self.past.size


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, feed-forward, each with its residual connection."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feedforward: nn.Module,
        wirings: tuple[SublayerConnection, SublayerConnection, SublayerConnection],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feedforward = feedforward
        self.self_wiring, self.cross_wiring, self.feedforward_wiring = wirings

    def start(self, memory: Float[Tensor, "batch source width"]) -> LayerCache:
        """Projects the memory once; every later step attends to these keys and values."""
        return LayerCache(self.cross_attention.keys_values(memory))

    def forward(
        self, x: Vectors, cache: LayerCache, memory_mask: Mask, self_mask: Mask = CAUSAL
    ) -> tuple[Float[Tensor, "batch position after"], LayerCache]:
        """`x` holds the positions after those in the cache; returns them and the cache that includes them.

        Targets are padded on the right, so with the causal mask alone no real position attends to padding; another
        `self_mask` is for callers with masks of their own.
        """
        inside = self.self_wiring.before(x)
        past = extend(cache.past, self.self_attention.keys_values(inside, cache.position))
        x = self.self_wiring.after(x, self.self_attention(inside, past, self_mask))
        inside = self.cross_wiring.before(x)
        x = self.cross_wiring.after(x, self.cross_attention(inside, cache.memory, memory_mask))
        inside = self.feedforward_wiring.before(x)
        return self.feedforward_wiring.after(x, self.feedforward(inside)), replace(cache, past=past)


class Decoder(nn.Module):
    """N layers one after the other, closed by `final_norm` (nothing with post-norm)."""

    def __init__(self, layers: Sequence[DecoderLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def start(self, memory: Float[Tensor, "batch source width"]) -> tuple[LayerCache, ...]:
        """An empty cache for each layer, with the memory projected."""
        return tuple(layer.start(memory) for layer in self.layers)  # type: ignore[operator]

    def forward(
        self,
        x: Float[Tensor, "batch position first"],
        caches: tuple[LayerCache, ...],
        memory_mask: Mask,
        self_mask: Mask = CAUSAL,
    ) -> tuple[Vectors, tuple[LayerCache, ...]]:
        grown = []
        for layer, cache in zip(self.layers, caches, strict=True):
            x, cache = layer(x, cache, memory_mask, self_mask)
            grown.append(cache)
        return self.final_norm(x), tuple(grown)
