"""A Transformer's decoder in buffers of fixed sizes: a step is the same operations on the same memory each time.

The keys and values of a beam are never moved: `ancestors` says for each position of a row in which row of its sentence
they are. Where Triton runs, our own kernels read them from there. Elsewhere a sentence's rows attend together to the
keys of all its rows, and a mask lets each see those that its hypothesis has read.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from openwork.decoding.fixed.search import copy_leading
from openwork.inference.fixed.sizes import FixedSizes
from openwork.inference.fixed.weights import FixedWeights
from openwork.inference.prepared.layers import PreparedDecoderLayer
from openwork.machine.device import on_device
from openwork.nn.kernels.gpu import step_attention
from openwork.nn.shapes import Lengths, Logits, Source

NOWHERE = -1  # the ancestor of a position that has not been read


class FixedTransformer:
    """Buffers, and steps in them.

    `memory`: for each layer keys and values (sentence, head, source, width) of the sources. `past`: those of the
    targets (sentence, head, beam, position, width). `read` (sentence): positions of the sources that are no padding, at
    least one. `memory_bias`, added to scores (sentence, 1, 1, source), hides the others. `ancestors` (rows,
    position): the place in the beam of the row that has the position.
    """

    def __init__(self, weights: FixedWeights, sizes: FixedSizes) -> None:
        self.weights, self.sizes = weights, sizes
        self.sentences, self.beam, self.capacity = sizes.sentences, sizes.beam, sizes.capacity
        self.vocabulary, self.device = weights.vocabulary, weights.device
        attentions = [layer.self_attention for layer in weights.layers]
        widths, heads = weights.memory.widths, weights.memory.heads
        self.memory = [self._zeros(heads, sizes.source, width // heads) for width in widths]
        self.past = [
            self._zeros(one.heads, sizes.beam, sizes.capacity, width // one.heads)
            for one in attentions
            for width in one.widths[1:]
        ]
        self.read = torch.ones(sizes.sentences, dtype=torch.int64, device=self.device)
        self.memory_bias = self._zeros(1, 1, sizes.source)
        self.positions = weights.position_vectors(sizes.capacity)
        self.places = torch.arange(sizes.capacity, device=self.device)
        rows = sizes.sentences * sizes.beam
        self.ancestors = torch.full((rows, sizes.capacity), NOWHERE, device=self.device)
        self.own_places = torch.arange(sizes.beam, device=self.device).repeat(sizes.sentences)
        each = {part.shape[-1] for part in (*self.memory, *self.past)}
        self.has_kernels = len(each) == 1 and step_attention.is_suited(self.device, weights.dtype, max(each))

    def _zeros(self, *sizes: int) -> Tensor:
        """Numbers, though masked: weight 0 times an arbitrary one may be NaN."""
        return torch.zeros(self.sentences, *sizes, dtype=self.weights.dtype, device=self.device)

    @property
    def bytes(self) -> int:
        """Of the keys and values, the largest buffers."""
        return sum(part.nbytes for part in (*self.memory, *self.past))

    def start(self, source: Source, lengths: Lengths) -> None:
        """Reads sources, at most `sentences` of at most `sizes.source` positions, by the model's encoder."""
        source = self.weights.widened(source)
        sentences, size = source.shape
        source, lengths = (on_device(part, self.device) for part in (source, lengths))
        self.read.fill_(1)  # an empty source has one key, which is zero as its value is
        self.read[:sentences] = lengths.clamp(min=1)
        padding = torch.arange(size, device=self.device) >= lengths[:, None]
        with torch.autocast(self.device.type, enabled=False):
            encoded = self.weights.read(source, torch.arange(size, device=self.device) >= self.read[:sentences, None])
            made = self.weights.memory.project(encoded)
        made = made.masked_fill(padding[..., None], 0.0)
        for whole, part in zip(self.memory, made.split(self.weights.memory.widths, -1), strict=True):
            whole[:sentences, :, :size] = part.unflatten(-1, (whole.shape[1], -1)).transpose(1, 2)
        hidden = torch.arange(self.sizes.source, device=self.device) >= self.read[:, None]
        self.memory_bias.zero_().masked_fill_(hidden[:, None, None], -torch.inf)
        self.ancestors.fill_(NOWHERE)

    def follow(self, earlier: "FixedTransformer") -> None:
        """Goes on with buffers of less capacity where those stand."""
        self.ancestors.fill_(NOWHERE)
        for mine, theirs in (
            *zip(self.memory, earlier.memory, strict=True),
            *zip(self.past, earlier.past, strict=True),
            (self.read, earlier.read),
            (self.memory_bias, earlier.memory_bias),
            (self.ancestors, earlier.ancestors),
        ):
            copy_leading(mine, theirs)

    def step(
        self, tokens: Int[Tensor, "rows"], parents: Int[Tensor, "rows"] | None, position: Int[Tensor, ""]
    ) -> Logits:
        """As `FixedModel` says; in the type of the weights."""
        at = position.view(1)
        x = self.weights.table.index_select(0, tokens) + self.positions.index_select(0, at)
        x = x if self.weights.embedding_norm is None else self.weights.embedding_norm(x)
        if self.beam > 1:
            if parents is not None:
                self.ancestors.copy_(self.ancestors.index_select(0, parents))
            self.ancestors.index_copy_(1, at, self.own_places[:, None])
        bias = None if self.has_kernels else self._past_bias(at)
        for number, layer in enumerate(self.weights.layers):
            x = layer.self_wiring.after(x, self._to_past(layer, number, layer.self_wiring.before(x), at, bias))
            x = layer.cross_wiring.after(x, self._to_source(layer, number, layer.cross_wiring.before(x)))
            x = layer.feedforward_wiring.after(x, layer.feedforward(layer.feedforward_wiring.before(x)))
        return self.weights.logits(x)

    def _past_bias(self, at: Int[Tensor, "one"]) -> Float[Tensor, "#sentence 1 #beam beam*position"]:
        """What hides the keys that a row's hypothesis has not read, for all layers."""
        if self.beam == 1:
            zeros = torch.zeros(1, 1, 1, self.capacity, dtype=self.weights.dtype, device=self.device)
            return zeros.masked_fill_(self.places > at, -torch.inf)
        others = self.own_places[: self.beam, None]
        hidden = self.ancestors.view(self.sentences, self.beam, 1, self.capacity) != others
        zeros = torch.zeros(hidden.shape, dtype=self.weights.dtype, device=self.device)
        return zeros.masked_fill_(hidden, -torch.inf).flatten(2)[:, None]

    def _to_past(
        self,
        layer: PreparedDecoderLayer,
        number: int,
        x: Float[Tensor, "rows width"],
        at: Int[Tensor, "one"],
        bias: Tensor | None,
    ) -> Float[Tensor, "rows after"]:
        """The self-attention; with `bias` the framework's."""
        attention, (keys, values) = layer.self_attention, self.past[2 * number : 2 * number + 2]
        made = attention.project(x)
        if bias is None:
            ancestors = self.ancestors if self.beam > 1 else None
            return attention.output(step_attention.attend_to_past(made, keys, values, ancestors, at))
        query, key, value = (self._by_heads(part, attention.heads) for part in made.split(attention.widths, -1))
        keys.index_copy_(3, at, key.unsqueeze(3))
        values.index_copy_(3, at, value.unsqueeze(3))
        return attention.output(attended(query, keys.flatten(2, 3), values.flatten(2, 3), bias))

    def _to_source(
        self, layer: PreparedDecoderLayer, number: int, x: Float[Tensor, "rows width"]
    ) -> Float[Tensor, "rows after"]:
        """The cross-attention."""
        attention, (keys, values) = layer.cross_attention, self.memory[2 * number : 2 * number + 2]
        query = attention.query(x)
        if self.has_kernels:
            return attention.output(step_attention.attend_to_source(query, keys, values, self.read))
        return attention.output(attended(self._by_heads(query, attention.heads), keys, values, self.memory_bias))

    def _by_heads(self, x: Float[Tensor, "rows width"], heads: int) -> Float[Tensor, "sentence head beam each"]:
        """The rows of a sentence as queries, or keys, beside each other."""
        return x.unflatten(-1, (heads, -1)).unflatten(0, (self.sentences, self.beam)).transpose(1, 2)


def attended(
    query: Float[Tensor, "sentence head beam queries_width"],
    key: Float[Tensor, "sentence head key queries_width"],
    value: Float[Tensor, "sentence head key values_width"],
    bias: Float[Tensor, "#sentence 1 #beam key"],
) -> Float[Tensor, "rows width"]:
    """The heads' outputs side by side. The queries are already multiplied by the scale of the scores."""
    bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], -1)
    found = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
    return found.transpose(1, 2).flatten(2).flatten(0, 1)
