"""The layers of the Transformer and their stacks: encoder, decoder, and the decoder without an encoder.

Section 3.1 of the paper; masked self-attention and feed-forward alone: Radford et al. 2018, section 3.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.cache import KeyValue, PastPositions, Selectable
from openwork.nn.masks import CAUSAL, Mask
from openwork.nn.residual import SublayerConnection
from openwork.nn.shapes import Vectors


class Stack(nn.Module):
    """N layers one after the other, closed by `final_norm` (nothing with post-norm)."""

    def __init__(self, layers: Sequence[nn.Module], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm


class CausalStack(Stack):
    """A stack whose layers keep keys and values, which are passed in and returned beside `x`."""

    def forward(
        self, x: Float[Tensor, "batch position first"], caches: Sequence[Any], *masks: Mask
    ) -> tuple[Vectors, tuple[Any, ...]]:
        """`caches`: one for each layer; `masks`: those of a layer's `forward`."""
        grown = []
        for layer, cache in zip(self.layers, caches, strict=True):
            x, cache = layer(x, cache, *masks)
            grown.append(cache)
        return self.final_norm(x), tuple(grown)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with its residual connection."""

    def __init__(
        self, self_attention: MultiHeadAttention, feedforward: nn.Module, wirings: Sequence[SublayerConnection]
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feedforward = feedforward
        self.attention_wiring, self.feedforward_wiring = wirings

    def forward(self, x: Vectors, mask: Mask) -> Float[Tensor, "batch position after"]:
        inside = self.attention_wiring.before(x)
        keys_values = self.self_attention.keys_values(inside)
        x = self.attention_wiring.after(x, self.self_attention(inside, keys_values, mask))
        return self.feedforward_wiring.after(x, self.feedforward(self.feedforward_wiring.before(x)))


class Encoder(Stack):
    """The encoder."""

    def forward(self, x: Float[Tensor, "batch position first"], mask: Mask) -> Vectors:
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)


@dataclass(frozen=True)
class LayerCache(Selectable):
    """What one decoder layer needs again: the memory's keys and values, and those of the positions so far."""

    memory: KeyValue
    past: PastPositions | None = None

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
        wirings: Sequence[SublayerConnection],
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
        past = self.self_attention.grow(cache.past, inside, self_mask)
        x = self.self_wiring.after(x, self.self_attention(inside, past, self_mask))
        inside = self.cross_wiring.before(x)
        x = self.cross_wiring.after(x, self.cross_attention(inside, cache.memory, memory_mask))
        x = self.feedforward_wiring.after(x, self.feedforward(self.feedforward_wiring.before(x)))
        return x, replace(cache, past=past)


class Decoder(CausalStack):
    """The decoder."""

    def start(self, memory: Float[Tensor, "batch source width"]) -> tuple[LayerCache, ...]:
        """An empty cache for each layer, with the memory projected."""
        return tuple(layer.start(memory) for layer in self.layers)  # type: ignore[operator]


class CausalLayer(nn.Module):
    """Masked self-attention, then the feed-forward network, each with its residual connection."""

    def __init__(
        self, self_attention: MultiHeadAttention, feedforward: nn.Module, wirings: Sequence[SublayerConnection]
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feedforward = feedforward
        self.self_wiring, self.feedforward_wiring = wirings

    def forward(
        self, x: Vectors, past: PastPositions | None = None, mask: Mask = CAUSAL
    ) -> tuple[Float[Tensor, "batch position after"], PastPositions]:
        """`x` holds the positions after those in `past`; returns them, and the keys and values that include them.

        `mask` describes which of all these positions attend to which.
        """
        inside = self.self_wiring.before(x)
        grown = self.self_attention.grow(past, inside, mask)
        x = self.self_wiring.after(x, self.self_attention(inside, grown, mask))
        return self.feedforward_wiring.after(x, self.feedforward(self.feedforward_wiring.before(x))), grown


def layers_of(model: nn.Module) -> list[nn.Module]:
    """The layers of all stacks of a model."""
    return [module for module in model.modules() if isinstance(module, EncoderLayer | DecoderLayer | CausalLayer)]
