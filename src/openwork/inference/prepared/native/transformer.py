"""A prepared Transformer with a decoder step as one call of step.cpp, in float32 or in integers of eight bits.

The result for a sentence does not depend on the others in the batch: in eight bits each row has its own scale.
"""

import ctypes
from collections.abc import Sequence
from copy import copy
from ctypes import c_int32, c_void_p
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.inference.prepared.caches import Past, PreparedState
from openwork.inference.prepared.layers import Make, side_by_side
from openwork.inference.prepared.native.building import library, problem
from openwork.inference.prepared.native.structures import (
    FOUR,
    ChoiceFields,
    DecoderFields,
    Kept,
    LayerFields,
    NormFields,
    ProductFields,
    StepFields,
    addresses,
)
from openwork.inference.prepared.products import ProductType
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.seq2seq import Transformer
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import DecoderLayer
from openwork.nn.residual import PostNorm, PreNorm, SublayerConnection


@dataclass(frozen=True)
class SharingState(PreparedState):
    """A PreparedState in which nothing is moved when a search reorders, doubles or drops rows.

    Each row of a step writes its keys and values at its own place of that step. `rows` is a table (position, row) of
    the places of each row's earlier positions; selecting rows selects columns of the table. None: each row has always
    had its place. Torch would have to gather the keys, which costs as much as moving them; step.cpp follows the table.
    """

    def after_rows(self, past: Past, rows: int) -> "SharingState":
        """The state after `rows` rows have written the next position into `past`, each at its own place."""
        table = None if self.rows is None else torch.cat([self.rows, torch.arange(rows)[None]])
        return replace(self, past=past, position=self.position + 1, rows=table)

    def alone(self) -> "SharingState":
        """The state of one row with its keys, values and memory in buffers of their own."""
        if self.rows is None:
            return replace(super().alone(), rows=None)  # type: ignore[return-value]
        places, first = torch.arange(self.position), torch.zeros(1, dtype=torch.int64)
        buffers = [tuple(part[places, self.rows[:, 0]][:, None] for part in one) for one in self.past.buffers]
        past = Past(buffers, self.position).select(None, self.position)  # type: ignore[arg-type]
        memory = self.memory.select(first if self.sentences is None else self.sentences)
        return SharingState(memory, past, position=self.position)

    def _with_rows(self, rows: Int[Tensor, "rows"]) -> "SharingState":
        table = rows.expand(self.position, -1) if self.rows is None else self.rows.index_select(1, rows)
        return replace(self, rows=table)


def with_room(past: Past, position: int, rows: int) -> Past:
    """A past in which so many rows can write the position: this one or a copy."""
    free = past.with_room(position)
    if rows <= free.rows:
        return free
    return Past([(_wider(keys, position, rows), _wider(values, position, rows)) for keys, values in free.buffers],
                position)  # fmt: skip


def _wider(buffer: Tensor, positions: int, rows: int) -> Tensor:
    made = buffer.new_empty(buffer.shape[0], rows, buffer.shape[2])
    made[:positions, : buffer.shape[1]] = buffer[:positions]
    return made


def can_be_native(model: Transformer, products: ProductType = "float32") -> bool:
    """Whether a prepared model has a decoder of the paper's parts, and this machine such products (in eight bits: of
    whole groups of four inputs)."""
    if products == "bfloat16":
        return False
    decoder = model.decoder
    ends = isinstance(model.narrow, nn.Identity) and type(decoder.final_norm) in (nn.LayerNorm, nn.Identity)
    return ends and all(_is_supported(layer, products) for layer in decoder.layers) and not problem(products)


def _is_supported(layer: nn.Module, products: ProductType) -> bool:
    if not isinstance(layer, DecoderLayer) or not isinstance(layer.feedforward, FeedForward):
        return False
    wirings = [layer.self_wiring, layer.cross_wiring, layer.feedforward_wiring]
    if not all(_has_layer_norm(one) for one in wirings):
        return False
    attentions = (layer.self_attention, layer.cross_attention)
    inputs = [one.in_features for part in attentions for one in (part.query, part.output)]
    inputs += [layer.feedforward.expand.in_features, layer.feedforward.contract.in_features]
    fit = products != "int8" or all(width % FOUR == 0 for width in inputs)
    return isinstance(layer.feedforward.activation, nn.ReLU) and fit


def _has_layer_norm(connection: object) -> bool:
    """Whether it is the paper's connection or pre-norm itself, with a layer norm."""
    return (
        isinstance(connection, PreNorm | PostNorm)
        and type(connection) in (PreNorm, PostNorm)
        and type(connection.norm) is nn.LayerNorm
    )


class CompiledProduct:
    """x W^T + b in float32, or max(0, .) of it, without the framework's work before each call."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rectified: bool = False) -> None:
        built = library()
        self._kept = Kept(built.openwork_float_panel())
        self._fields, self._outputs = self._kept.product(weight, bias), weight.shape[0]
        self._rectified = int(rectified)
        self._multiply = built.openwork_product
        self._multiply.argtypes = [ctypes.POINTER(ProductFields), c_void_p, c_int32, c_void_p, c_int32]
        self._multiply.restype = None

    def __call__(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows outputs"]:
        x = x.contiguous()
        made = x.new_empty(*x.shape[:-1], self._outputs)
        rows = made.numel() // self._outputs
        self._multiply(self._fields, x.data_ptr(), rows, made.data_ptr(), self._rectified)
        return made


class NativeTransformer(PreparedTransformer):
    """`model`, which `can_be_native`. The encoder is that of PreparedTransformer, in float32 with compiled products."""

    @torch.no_grad()
    def __init__(self, model: Transformer, products: ProductType = "float32") -> None:
        self.products = products
        super().__init__(model, products)

    def _products(self, kind: ProductType) -> Make:
        return CompiledProduct if kind == "float32" else super()._products(kind)

    def _prepare_steps(self, model: Transformer, make: Make) -> None:
        self.decoder = NativeDecoder(model, self.products)

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
        state = super().start(source, source_lengths)
        return SharingState(state.memory, state.past)

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


class NativeDecoder:
    """The layers, the last norm and the output matrix of `model` in the form of step.cpp."""

    def __init__(self, model: Transformer, products: ProductType) -> None:
        built = library()
        self._panel = built.openwork_float_panel() if products == "float32" else None
        self._kept, self._kept_output = Kept(self._panel), Kept(self._panel)
        self._weight, self._bias = model.output_weight.detach(), model.output_bias
        layers = [_layer(layer, self._kept) for layer in model.decoder.layers]  # type: ignore[arg-type]
        self._layers = (LayerFields * len(layers))(*layers)
        first: DecoderLayer = model.decoder.layers[0]  # type: ignore[assignment]
        heads = first.self_attention.heads.count
        self.outputs = self._weight.shape[0]
        self._fields = DecoderFields(
            len(layers), self._weight.shape[1], heads,
            first.self_attention.key.out_features // heads, first.self_attention.value.out_features // heads,
            int(isinstance(first.self_wiring, PreNorm)), self._layers, self._kept.norm(model.decoder.final_norm),
            self._kept_output.product(self._weight, self._bias),
        )  # fmt: skip
        self._step = getattr(built, f"openwork_step_{products}")
        self._step.argtypes = [ctypes.POINTER(DecoderFields), ctypes.POINTER(StepFields)]
        self._step.restype = None
        self.choose = built.openwork_best
        self.choose.argtypes = [ctypes.POINTER(ChoiceFields)]
        self.choose.restype = None

    def among(self, pieces: Int[Tensor, "pieces"]) -> "NativeDecoder":
        """The same with these rows of the output matrix."""
        fewer = copy(self)
        fewer._kept_output = Kept(self._panel)
        fewer.outputs = pieces.shape[0]
        fewer._fields = DecoderFields.from_buffer_copy(self._fields)
        bias = None if self._bias is None else self._bias[pieces]
        fewer._fields.output = fewer._kept_output.product(self._weight[pieces], bias)
        return fewer

    def step(
        self,
        x: Float[Tensor, "rows width"],
        past: Past,
        state: SharingState,
        *,
        attends: bool = False,
        is_one_row: bool = False,
    ) -> tuple[Float[Tensor, "rows outputs"], Float[Tensor, "rows source"] | None]:
        """The logits, and with `attends` the last layer's attention, averaged over heads.

        The keys and values of this position are written into `past`; with `is_one_row` those of as many positions of
        one sentence as there are rows.
        """
        rows, memory = x.shape[0], state.memory
        x = x.contiguous()
        logits = x.new_empty(rows, self.outputs)
        source = memory.bias.shape[-1]
        attended = x.new_empty(rows, self._fields.heads, source) if attends else None
        sentences = torch.zeros(rows, dtype=torch.int64) if is_one_row else _sentences(state, rows)
        table = None if state.rows is None else state.rows.contiguous()
        keys, values = zip(*past.buffers, strict=True)
        memory_keys, memory_values = zip(*memory.layers, strict=True)
        arrays = [addresses(tensors) for tensors in (keys, values, memory_keys, memory_values)]
        fields = StepFields(
            rows, state.position, past.rows, source, int(is_one_row), x.data_ptr(), _place(table), _place(sentences),
            memory.lengths.data_ptr(), *(ctypes.addressof(array) for array in arrays), logits.data_ptr(),
            _place(attended),
        )  # fmt: skip
        self._step(self._fields, fields)
        return logits, None if attended is None else attended.mean(1)[:, : memory.size]


def _place(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _sentences(state: SharingState, rows: int) -> Tensor | None:
    """The place of each row's memory; None: in the order of the rows."""
    if state.each == 1:
        return state.sentences
    own = torch.arange(rows // state.each) if state.sentences is None else state.sentences
    return own.repeat_interleave(state.each)


def _layer(layer: DecoderLayer, kept: Kept) -> LayerFields:
    own, cross, network = layer.self_attention, layer.cross_attention, layer.feedforward
    assert isinstance(network, FeedForward)

    def product(layers: Sequence[nn.Linear], scales: Sequence[float] = (1.0,)) -> ProductFields:
        return side_by_side(layers, kept.product, scales)

    def norm(wiring: SublayerConnection) -> NormFields:
        assert isinstance(wiring, PreNorm | PostNorm)
        return kept.norm(wiring.norm)

    return LayerFields(
        product([own.query, own.key, own.value], (own.scale, 1.0, 1.0)), product([own.output]),
        product([cross.query], (cross.scale,)), product([cross.output]),
        product([network.expand]), product([network.contract]),
        norm(layer.self_wiring), norm(layer.cross_wiring), norm(layer.feedforward_wiring),
    )  # fmt: skip
