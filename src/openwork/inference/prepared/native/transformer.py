"""A prepared Transformer as compiled functions, in float32 or in integers of eight bits.

The result for a sentence does not depend on the others in the batch: in eight bits each row has its own scale.
"""

from copy import copy
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.decoding.scoring import GivenUp, forbidding
from openwork.inference.prepared.caches import ROOM, PreparedMemory, PreparedState
from openwork.inference.prepared.native.decoder import NativeDecoder
from openwork.inference.prepared.native.embeddings import TargetEmbeddings
from openwork.inference.prepared.native.encoder import NativeEncoder
from openwork.inference.prepared.native.greedy import greedy_targets
from openwork.inference.prepared.native.sentence import NativeContinuations
from openwork.inference.prepared.native.sources import problem
from openwork.inference.prepared.native.states import SharingState, with_room
from openwork.inference.prepared.native.structures import CACHE_TYPES, FOUR, ChoiceFields
from openwork.inference.prepared.products import ProductType
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.seq2seq import Transformer
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import DecoderLayer, EncoderLayer
from openwork.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions
from openwork.nn.residual import PostNorm, PreNorm

MOST_ROOM = 64  # positions for which a greedy search has space at once


def can_be_native(model: Transformer, products: ProductType = "float32") -> bool:
    """Whether a prepared model has the paper's parts, and this machine such products (in eight bits: of whole groups
    of four inputs)."""
    if products == "bfloat16":
        return False
    stacks = (model.encoder, model.decoder)
    ends = all(type(stack.final_norm) in (nn.LayerNorm, nn.Identity) for stack in stacks)
    layers = [layer for stack in stacks for layer in stack.layers]
    return (
        ends
        and isinstance(model.narrow, nn.Identity)
        and all(_is_supported(layer, products) for layer in layers)
        and not problem()
    )


def _is_supported(layer: nn.Module, products: ProductType) -> bool:
    if isinstance(layer, DecoderLayer):
        wirings = [layer.self_wiring, layer.cross_wiring, layer.feedforward_wiring]
        attentions = [layer.self_attention, layer.cross_attention]
    elif isinstance(layer, EncoderLayer):
        wirings, attentions = [layer.attention_wiring, layer.feedforward_wiring], [layer.self_attention]
    else:
        return False
    network = layer.feedforward
    if not isinstance(network, FeedForward) or not all(_has_layer_norm(one) for one in wirings):
        return False
    inputs = [one.in_features for part in attentions for one in (part.query, part.key, part.output)]
    inputs += [network.expand.in_features, network.contract.in_features]
    fit = products != "int8" or all(width % FOUR == 0 for width in inputs)
    return isinstance(network.activation, nn.ReLU) and fit


def _has_layer_norm(connection: object) -> bool:
    """Whether it is the paper's connection or pre-norm itself, with a layer norm."""
    return (
        isinstance(connection, PreNorm | PostNorm)
        and type(connection) in (PreNorm, PostNorm)
        and type(connection.norm) is nn.LayerNorm
    )


class NativeTransformer(PreparedTransformer):
    """`model`, which `can_be_native`: encoder, decoder, and the search of one sentence are compiled functions."""

    def _prepare_layers(self, model: Transformer) -> None:
        self.encoder, self.decoder = NativeEncoder(model, self.products), NativeDecoder(model, self.products)
        self.empty_past = partial(self.empty_past, dtype=CACHE_TYPES[self.products])

    def _together(
        self, tokens: Int[Tensor, "one positions"], state: PreparedState
    ) -> tuple[Float[Tensor, "one positions vocabulary"], PreparedState]:
        """A step whose rows are all positions."""
        count = tokens.shape[1]
        own = state.alone()
        assert isinstance(own, SharingState)
        past = own.past.with_room(own.position, count)
        logits, _ = self.decoder.step(self._embedded(tokens[0], own.position, count), past, own, is_one_row=True)
        past.written = own.position + count
        return logits[None], own.after_step(past, count)

    def among(self, pieces: Int[Tensor, "pieces"]) -> "NativeTransformer":
        """The same model with these target pieces as vocabulary: a token is the place of its piece among them."""
        fewer = copy(self)
        fewer.table = self.table.index_select(0, pieces)
        fewer.decoder = self.decoder.among(pieces)
        return fewer

    def start(self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]) -> SharingState:
        """Reads source ids, padded on the right, with their lengths."""
        return SharingState(self._memory(source, source_lengths), self.empty_past(source.shape[0], ROOM))

    def _memory(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> PreparedMemory:
        return self.encoder.read(self.source_positions(self.source_embedding(source)), lengths)

    def continuations(
        self, source: Int[Tensor, "one source"], length: Int[Tensor, "one"], beam: int, count: int
    ) -> NativeContinuations | None:
        """`continuations` of `models/interfaces.py`."""
        if (embeddings := self._target_embeddings()) is None:
            return None
        memory, past = self._memory(source, length), self.empty_past(beam, ROOM)
        return NativeContinuations(self.decoder, memory, past, count, self._forbidding(), embeddings)

    def greedy_targets(
        self,
        source: Int[Tensor, "sentence source"],
        source_lengths: Int[Tensor, "sentence"],
        limits: Int[Tensor, "sentence"],
        given_up: GivenUp,
    ) -> tuple[Int[Tensor, "sentence place"], Float[Tensor, "sentence"]] | None:
        """`greedy_targets` of `models/interfaces.py`."""
        if source.shape[0] == 0 or (embeddings := self._target_embeddings()) is None:
            return None
        # pages of positions that are not reached are never touched
        past = self.empty_past(source.shape[0], min(int(limits.max()), MOST_ROOM))
        memory = self._memory(source, source_lengths)
        return greedy_targets(self.decoder, memory, past, limits, self._forbidding(), embeddings, given_up)

    def _target_embeddings(self) -> TargetEmbeddings | None:
        """None where more is done to embeddings than to add a vector."""
        positions = None if isinstance(self.target_positions, NoPositions) else self.target_positions
        if not isinstance(positions, SinusoidalPositions | LearnedPositions | None):
            return None
        return TargetEmbeddings(self.table, self.scale, positions)

    def _forbidding(self) -> Float[Tensor, "vocabulary"]:
        return forbidding(self.table.shape[0], self.table.dtype, self.table.device)

    def best(
        self, logits: Float[Tensor, "rows vocabulary"], added: Float[Tensor, "vocabulary"], count: int
    ) -> tuple[Float[Tensor, "rows best"], Int[Tensor, "rows best"], Float[Tensor, "rows 1"]]:
        """`best` of `models/interfaces.py` in one call of best.cpp."""
        logits, added, (rows, vocabulary) = logits.contiguous(), added.contiguous(), logits.shape
        scores, normaliser = logits.new_empty(rows, count), logits.new_empty(rows, 1)
        ids = torch.empty(rows, count, dtype=torch.int64)
        places = [tensor.data_ptr() for tensor in (logits, added, scores, ids, normaliser)]
        self.decoder.choose(ChoiceFields(rows, vocabulary, count, *places))
        return scores, ids, normaliser

    def _advance(
        self, tokens: Int[Tensor, "rows"], state: PreparedState, *, attends: bool
    ) -> tuple[Tensor, SharingState, Tensor | None]:
        assert isinstance(state, SharingState)
        rows = tokens.shape[0]
        past = with_room(state.past, state.position, rows)
        logits, attended = self.decoder.step(self._embedded(tokens, state.position), past, state, attends=attends)
        past.written = state.position + 1
        return logits, state.after_rows(past, rows), attended
