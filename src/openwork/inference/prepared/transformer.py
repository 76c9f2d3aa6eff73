"""A Transformer prepared for inference: the same start, step and select, with work done once that can be done once.

Tests hold it equal to the model. It cannot be trained and does not follow later changes of the model's weights.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from openwork.inference.prepared.caches import ROOM, Past, PreparedState
from openwork.inference.prepared.layers import (
    Make,
    MemoryProjection,
    PreparedDecoderLayer,
    PreparedEncoderLayer,
    empty_past,
    linear,
    prepared_norm,
)
from openwork.inference.prepared.products import PRODUCTS, Product, ProductType
from openwork.models.seq2seq import Transformer
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.distances import NoDistances
from openwork.nn.feedforward import ConvolutionalFeedForward
from openwork.nn.low_rank import AdaptedLinear, FactorisedLinear
from openwork.nn.masks import Mask
from openwork.nn.positions import (
    LearnedPositions,
    NoPositions,
    NormalisedPositions,
    Positions,
    SinusoidalPositions,
)  # fmt: skip

READ_TOGETHER = 1024  # source positions that the encoder reads at once, so that their vectors fit into a core's cache
ALIKE = 0.75  # of the longest of them: shorter sentences are read apart, since padding costs as much as words


def can_be_prepared(model: nn.Module) -> bool:
    """Whether it is a Transformer in float32 on a CPU with plain dot-product attention and no shared heads."""
    if type(model) is not Transformer or model.output.device.type != "cpu" or model.output.dtype is not torch.float32:
        return False
    return has_plain_parts(model)


def has_plain_parts(model: Transformer) -> bool:
    """Whether its attention is plain and without shared heads, and its matrices are whole."""
    if any(isinstance(part, ConvolutionalFeedForward | AdaptedLinear | FactorisedLinear) for part in model.modules()):
        return False
    attentions = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    return all(
        isinstance(one.distances, NoDistances)
        and one.weighing.weight_function is None
        and one.pattern is None
        and one.weighs_tokens
        and one.heads.key_value_count in (None, one.heads.count)
        for one in attentions
    )


class PreparedTransformer:
    """`model`, which `can_be_prepared`, with products of type `products`."""

    @torch.no_grad()
    def __init__(self, model: Transformer, products: ProductType = "float32") -> None:
        self.products = products
        self.source_embedding, self.source_positions = model.source_embedding, model.source_positions
        self.empty_past: Callable[..., Past] = partial(empty_past, list(model.decoder.layers))  # type: ignore[arg-type]
        self.table, self.scale = model.target_embedding.table.weight.detach(), model.target_embedding.scale
        self.target_positions = model.target_positions
        self._prepare_layers(model)

    def _make(self) -> Make:
        """What makes products of matrices."""
        return PRODUCTS[self.products]

    def _prepare_layers(self, model: Transformer) -> None:
        """All between the embeddings and the logits."""
        make = self._make()
        self.encoder_layers = [PreparedEncoderLayer(layer, make) for layer in model.encoder.layers]  # type: ignore[arg-type]
        self.encoder_norm = prepared_norm(model.encoder.final_norm)
        self.memory = MemoryProjection([layer.cross_attention for layer in model.decoder.layers], make)  # type: ignore[misc]
        self.layers = [PreparedDecoderLayer(layer, make) for layer in model.decoder.layers]  # type: ignore[arg-type]
        self.decoder_norm = prepared_norm(model.decoder.final_norm)
        self.narrow = linear(model.narrow, make) if isinstance(model.narrow, nn.Linear) else None
        self._output = partial(_some_outputs, make, model.output_weight.detach(), model.output_bias)
        self.output = self._output(slice(None))

    def among(self, pieces: Int[Tensor, "pieces"]) -> "PreparedTransformer":
        """The same model with these target pieces as vocabulary: a token is the place of its piece among them."""
        fewer = copy(self)
        fewer.table = self.table.index_select(0, pieces)
        fewer.output = self._output(pieces)
        return fewer

    def start(self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]) -> PreparedState:
        """Reads source ids, padded on the right, with their lengths."""
        sentences, size = source.shape
        memory = self.memory.empty(sentences, size)
        for part in _alike(source_lengths.tolist()):
            lengths = source_lengths[part]
            self.memory.write(memory, self._read(source[part], lengths), lengths, part.start)
        return PreparedState(memory, self.empty_past(sentences, ROOM))

    def _read(self, source: Int[Tensor, "batch source"], lengths: Tensor) -> Float[Tensor, "batch longest width"]:
        """The encoder's output, up to the end of the longest of these sentences."""
        longest = max(1, int(lengths.max()))
        x = self.source_positions(self.source_embedding(source[:, :longest]))
        mask = Mask(None if int(lengths.min()) == longest else lengths)
        for layer in self.encoder_layers:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def step(
        self, tokens: Int[Tensor, "rows positions"], state: PreparedState
    ) -> tuple[Float[Tensor, "rows positions vocabulary"], PreparedState]:
        """The logits after each token; several positions are computed at once where there is one row."""
        if tokens.shape[0] == 1 < tokens.shape[1]:
            return self._together(tokens, state)
        made = []
        for column in tokens.unbind(1):
            logits, state, _ = self._advance(column, state, attends=False)
            made.append(logits)
        return made[0].unsqueeze(1) if len(made) == 1 else torch.stack(made, dim=1), state

    def _together(
        self, tokens: Int[Tensor, "one positions"], state: PreparedState
    ) -> tuple[Float[Tensor, "one positions vocabulary"], PreparedState]:
        """A step whose matrix products have all positions as their rows."""
        count = tokens.shape[1]
        state = state.alone()
        past = state.past.with_room(state.position, count)
        x = self._embedded(tokens[0], state.position, count)
        for number, layer in enumerate(self.layers):
            x, _ = layer.step(x, number, past, state, together=True)
        past.written = state.position + count
        x = self.decoder_norm(x)
        logits = self.output(x if self.narrow is None else self.narrow(x))
        return logits[None], state.after_step(past, count)

    def attend(
        self, tokens: Int[Tensor, "rows positions"], state: PreparedState
    ) -> tuple[Float[Tensor, "rows positions vocabulary"], Float[Tensor, "rows positions source"], PreparedState]:
        """As `step`, with the weights of the last cross-attention, the mean of its heads."""
        made, attended = [], []
        for column in tokens.unbind(1):
            logits, state, weights = self._advance(column, state, attends=True)
            made.append(logits)
            attended.append(weights)
        return torch.stack(made, dim=1), torch.stack(attended, dim=1), state

    def _advance(
        self, tokens: Int[Tensor, "rows"], state: PreparedState, *, attends: bool
    ) -> tuple[Tensor, PreparedState, Tensor | None]:
        """The logits, the next state, and with `attends` the attention of each row's last layer (rows, source)."""
        past = state.past.with_room(state.position)
        x = weights = self._embedded(tokens, state.position)
        for number, layer in enumerate(self.layers):
            x, weights = layer.step(x, number, past, state)
        past.written = state.position + 1
        x = self.decoder_norm(x)
        logits = self.output(x if self.narrow is None else self.narrow(x))
        if not attends:
            return logits, state.after_step(past), None
        mean = weights.mean(1)  # over heads
        live = mean if state.sentences is None else mean.index_select(0, state.sentences)
        return logits, state.after_step(past), live.flatten(0, 1)[:, : state.memory.size]

    def _embedded(self, tokens: Int[Tensor, "rows"], place: int, count: int = 1) -> Float[Tensor, "rows width"]:
        """`count`: positions that the tokens have, one for all rows or one each."""
        return _placed(functional.embedding(tokens, self.table), self.scale, self.target_positions, place, count)


def _alike(lengths: Sequence[int]) -> Iterator[slice]:
    """Neighbours of like lengths that are read together; batches have the longest first."""
    first = 0
    while first < len(lengths):
        longest = max(1, lengths[first])
        end = first + 1
        most = first + max(1, READ_TOGETHER // longest)
        while end < min(most, len(lengths)) and ALIKE * longest <= lengths[end] <= longest:
            end += 1
        yield slice(first, end)
        first = end


def _some_outputs(make: Make, weight: Tensor, bias: Tensor | None, which: Tensor | slice) -> Product:
    """The product with some rows of the output matrix."""
    return make(weight[which], None if bias is None else bias[which])


def _placed(x: Float[Tensor, "rows width"], scale: float, positions: Positions, place: int, count: int) -> Tensor:
    """Scaled embeddings with the position of all of these rows, or the `count` positions from there on."""
    if isinstance(positions, NormalisedPositions):
        return positions.norm(_placed(x, scale, positions.added, place, count))
    if isinstance(positions, NoPositions):
        return x * scale
    assert isinstance(positions, SinusoidalPositions | LearnedPositions)
    return torch.add(positions.rows(place, place + count), x, alpha=scale)
