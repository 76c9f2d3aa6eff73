"""Prepared layers of a Transformer: plain functions of prepared products, without calls of modules.

The projections of queries, keys and values become one matrix, those of all layers' memories another; the scale of the
scores goes into the weights of the queries, activation and bias into the product.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.inference.prepared.caches import (
    HIDDEN,
    MaskedMemory,
    Past,
    PreparedState,
    attend_in_order,
    attend_to_memory,
    attend_to_past,
    padded_size,
)
from openwork.inference.prepared.products import Product
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.feedforward import FeedForward, GatedFeedForward
from openwork.nn.kernels import fused
from openwork.nn.layers import DecoderLayer, EncoderLayer
from openwork.nn.masks import Mask
from openwork.nn.normalisation import BatchNorm, norm_of_sum, takes_sum
from openwork.nn.residual import BranchNorm, NormConnection, PostNorm, PreNorm, ProjectedResidual, SublayerConnection

Make = Callable[..., Product]
"""Makes a product of weight, bias and whether it is rectified."""

Function = Callable[[Tensor], Tensor]

Made = TypeVar("Made")


def prepared_norm(norm: nn.Module) -> Function:
    """The function of a norm without its module; with fixed statistics, batch normalisation is a scale and a shift."""
    if isinstance(norm, BatchNorm):
        scale = norm.weight / torch.sqrt(norm.running_variance + norm.epsilon)
        shift = norm.bias - norm.running_mean * scale
        return lambda x: torch.addcmul(shift, x, scale)
    if not isinstance(norm, nn.LayerNorm):
        return norm
    shape, gain, bias, epsilon = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, shape, gain, bias, epsilon)


class PreparedConnection:
    """A sub-layer connection of `nn/residual.py`: the input of the sub-layer, and the stream after it."""

    def __init__(self, wiring: SublayerConnection, make: Make) -> None:
        self.project: Product | None = None
        if isinstance(wiring, ProjectedResidual):
            self.project = linear(wiring.projection, make)
            wiring = wiring.wiring
        assert isinstance(wiring, NormConnection)
        self.adds_input, norm = wiring.adds_input, prepared_norm(wiring.norm)
        self.norm_before: Function | None = norm if isinstance(wiring, PreNorm) else None
        self.norm_after: Function | None = norm if isinstance(wiring, PostNorm) else None
        self.norm_made: Function | None = norm if isinstance(wiring, BranchNorm) else None
        self.summed = wiring.norm if isinstance(wiring, PostNorm) and wiring.adds_input else None

    def before(self, x: Tensor) -> Tensor:
        return x if self.norm_before is None else self.norm_before(x)

    def after(self, x: Tensor, made: Tensor) -> Tensor:
        """Overwrites `made`, the output of the sub-layer."""
        if x.is_cuda and self.summed is not None and self.project is None and takes_sum(self.summed, x, made):
            return norm_of_sum(self.summed, x, made)
        made = made if self.norm_made is None else self.norm_made(made)
        if self.adds_input:
            made += x if self.project is None else self.project(x)
        return made if self.norm_after is None else self.norm_after(made)


def linear(layer: nn.Linear, make: Make) -> Product:
    return make(layer.weight, layer.bias)


def side_by_side(layers: Sequence[nn.Linear], make: Callable[..., Made], scales: Sequence[float]) -> Made:
    """Several linear layers of one input as one product; each is multiplied by its scale."""
    weight = torch.cat([layer.weight * scale for layer, scale in zip(layers, scales, strict=True)])
    bias = None
    if layers[0].bias is not None:
        bias = torch.cat([layer.bias * scale for layer, scale in zip(layers, scales, strict=True)])
    return make(weight, bias)


def prepared_feedforward(network: nn.Module, make: Make) -> Function:
    """The feed-forward network of equation 2, or a gated one with its first two matrices joined."""
    if isinstance(network, GatedFeedForward):
        both = side_by_side([network.gate, network.expand], make, [1.0, 1.0])
        last, gating = linear(network.contract, make), network.activation

        def gated(x: Tensor) -> Tensor:
            gate, expanded = both(x).chunk(2, dim=-1)
            return last(gating(gate) * expanded)

        return gated
    assert isinstance(network, FeedForward)
    contract = linear(network.contract, make)
    if isinstance(network.activation, nn.ReLU):
        rectified = make(network.expand.weight, network.expand.bias, True)
        return lambda x: contract(rectified(x))
    expand, activation = linear(network.expand, make), network.activation
    return lambda x: contract(activation(expand(x)))


class PreparedSelfAttention:
    """Queries, keys and values of a sequence by one product."""

    def __init__(self, attention: MultiHeadAttention, make: Make) -> None:
        self.heads = attention.heads.count
        self.widths = [attention.query.out_features, attention.key.out_features, attention.value.out_features]
        layers = [attention.query, attention.key, attention.value]
        self.project = side_by_side(layers, make, [attention.scale, 1.0, 1.0])
        self.output = linear(attention.output, make)

    def over(self, x: Float[Tensor, "batch position width"], mask: Mask) -> Float[Tensor, "batch position after"]:
        """Every position attends to every position that is not padding."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.project(x).split(self.widths, -1)
        )
        found = fused.attention(query, key, value, mask, 1.0)
        return self.output(found.transpose(1, 2).flatten(-2))

    def step(
        self, x: Float[Tensor, "rows width"], cache: tuple[Tensor, Tensor], position: int, rows: Tensor | None
    ) -> Float[Tensor, "rows after"]:
        """One new position of each row attends to its past and itself; it is written into the cache.

        `rows`: the cache's rows of these; results of the others are dropped.
        """
        query, key, value = self.project(x).split(self.widths, -1)
        keys, values = cache
        if rows is None:
            keys[position], values[position] = key, value
            query = query.contiguous()
        else:
            keys[position].index_copy_(0, rows, key)
            values[position].index_copy_(0, rows, value)
            query = query.new_empty(keys.shape[1], query.shape[1]).index_copy_(0, rows, query)
        found = attend_to_past(query, keys[: position + 1], values[: position + 1], self.heads)
        return self.output(found if rows is None else found.index_select(0, rows))

    def steps(
        self, x: Float[Tensor, "new width"], cache: tuple[Tensor, Tensor], position: int
    ) -> Float[Tensor, "new after"]:
        """The next positions of the only row, all at once; they are written into the cache."""
        query, key, value = self.project(x).split(self.widths, -1)
        keys, values = cache
        end = position + x.shape[0]
        keys[position:end, 0], values[position:end, 0] = key, value
        return self.output(attend_in_order(query, keys[:end, 0], values[:end, 0], self.heads))


class PreparedCrossAttention:
    """Attends to memories, of which keys and values were computed when they were read."""

    def __init__(self, attention: MultiHeadAttention, make: Make) -> None:
        self.heads = attention.heads.count
        self.query = side_by_side([attention.query], make, [attention.scale])
        self.output = linear(attention.output, make)

    def step(
        self,
        x: Float[Tensor, "rows width"],
        cache: tuple[Tensor, Tensor],
        memory: MaskedMemory,
        sentences: Tensor | None,
    ) -> tuple[Float[Tensor, "rows after"], Float[Tensor, "sentence head queries source"]]:
        """The rows of the live sentences attend to these; returns also the weights, of all sentences in the memory."""
        query = self.query(x)
        key, value = cache
        if sentences is None:
            found, weights = attend_to_memory(query, key, value, memory.bias)
            return self.output(found), weights
        together = query.view(sentences.shape[0], -1)
        spread = query.new_empty(memory.sentences, together.shape[1]).index_copy_(0, sentences, together)
        found, weights = attend_to_memory(spread.view(-1, query.shape[1]), key, value, memory.bias)
        found = found.view(memory.sentences, -1).index_select(0, sentences)
        return self.output(found.view(query.shape[0], -1)), weights


class PreparedEncoderLayer:
    """Self-attention and feed-forward network."""

    def __init__(self, layer: EncoderLayer, make: Make) -> None:
        self.attention = PreparedSelfAttention(layer.self_attention, make)
        self.feedforward = prepared_feedforward(layer.feedforward, make)
        self.attention_wiring = PreparedConnection(layer.attention_wiring, make)
        self.feedforward_wiring = PreparedConnection(layer.feedforward_wiring, make)

    def __call__(self, x: Tensor, mask: Mask) -> Tensor:
        x = self.attention_wiring.after(x, self.attention.over(self.attention_wiring.before(x), mask))
        return self.feedforward_wiring.after(x, self.feedforward(self.feedforward_wiring.before(x)))


class PreparedDecoderLayer:
    """Self-attention, cross-attention and feed-forward network, for one new position of each row, or several of one."""

    def __init__(self, layer: DecoderLayer, make: Make) -> None:
        self.self_attention = PreparedSelfAttention(layer.self_attention, make)
        self.cross_attention = PreparedCrossAttention(layer.cross_attention, make)
        self.feedforward = prepared_feedforward(layer.feedforward, make)
        self.self_wiring = PreparedConnection(layer.self_wiring, make)
        self.cross_wiring = PreparedConnection(layer.cross_wiring, make)
        self.feedforward_wiring = PreparedConnection(layer.feedforward_wiring, make)

    def step(
        self, x: Float[Tensor, "rows width"], number: int, past: Past, state: PreparedState, *, together: bool = False
    ) -> tuple[Float[Tensor, "rows after"], Float[Tensor, "sentence head queries source"]]:
        """Layer `number` of its stack; returns also the weights of the cross-attention.

        `together`: the rows of `x` are positions of the only row, one after another.
        """
        own, cache = self.self_wiring.before(x), past.buffers[number]
        if together:
            made = self.self_attention.steps(own, cache, state.position)
        else:
            made = self.self_attention.step(own, cache, state.position, state.rows)
        x = self.self_wiring.after(x, made)
        inside = self.cross_wiring.before(x)
        memory = state.memory
        assert isinstance(memory, MaskedMemory)
        made, weights = self.cross_attention.step(inside, memory.layers[number], memory, state.sentences)
        x = self.cross_wiring.after(x, made)
        return self.feedforward_wiring.after(x, self.feedforward(self.feedforward_wiring.before(x))), weights


class MemoryProjection:
    """From the encoder's output to the keys and values of every decoder layer, by one product."""

    def __init__(self, attentions: Sequence[MultiHeadAttention], make: Make) -> None:
        self.layers = [part for attention in attentions for part in (attention.key, attention.value)]
        self.heads = attentions[0].heads.count
        self.widths = [layer.out_features for layer in self.layers]
        self.project = side_by_side(self.layers, make, [1.0] * len(self.layers))

    def empty(self, sentences: int, size: int) -> MaskedMemory:
        """Space for the memories of so many sentences of at most `size` positions, all masked."""

        def room(width: int) -> Tensor:
            made = torch.empty(sentences, self.heads, padded_size(size), width // self.heads)
            made[:, :, size:] = 0.0  # masked, but weight 0 times an arbitrary number may be NaN
            return made

        made = [room(width) for width in self.widths]
        bias = torch.full((sentences, self.heads, 1, padded_size(size)), HIDDEN)
        lengths = torch.zeros(sentences, dtype=torch.int64)
        return MaskedMemory(list(zip(made[::2], made[1::2], strict=True)), lengths, size, bias)

    def write(
        self,
        memory: MaskedMemory,
        x: Float[Tensor, "sentence source width"],
        lengths: Int[Tensor, "sentence"],
        first: int,
    ) -> None:
        """Writes the memories of these sentences from place `first` on."""
        sentences, size = x.shape[:2]
        made = self.project(x)
        nothing = lengths == 0  # an empty sentence has equal weights everywhere; of zeros they give zeros
        if bool(nothing.any()):
            made = made.masked_fill(nothing[:, None, None], 0.0)
        here = slice(first, first + sentences)
        wholes = [whole for layer in memory.layers for whole in layer]
        for whole, part in zip(wholes, made.split(self.widths, -1), strict=True):
            whole[here, :, :size] = part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            whole[here, :, size : memory.size] = 0.0
        memory.lengths[here] = lengths
        padding = torch.arange(size) >= lengths[:, None]
        memory.bias[here, :, :, :size] = (padding * HIDDEN)[:, None, None]


def empty_past(layers: Sequence[DecoderLayer], rows: int, room: int, dtype: torch.dtype = torch.float32) -> Past:
    """Buffers in which nothing is written yet."""
    attentions = [layer.self_attention for layer in layers]
    widths = [(one.key.out_features, one.value.out_features) for one in attentions]
    return Past([(torch.empty(room, rows, key, dtype=dtype), torch.empty(room, rows, value, dtype=dtype))
                 for key, value in widths], 0)  # fmt: skip
