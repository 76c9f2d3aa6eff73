"""The decoder as step.cpp computes it."""

import ctypes
from collections.abc import Sequence
from copy import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.inference.prepared.caches import Past
from openwork.inference.prepared.layers import side_by_side
from openwork.inference.prepared.native.sources import library
from openwork.inference.prepared.native.states import SharingState
from openwork.inference.prepared.native.structures import (
    ChoiceFields,
    ContinuingFields,
    DecoderFields,
    Kept,
    LayerFields,
    Layout,
    NormFields,
    ProductFields,
    StepFields,
    WritingFields,
    addresses,
)
from openwork.inference.prepared.products import ProductType
from openwork.models.seq2seq import Transformer
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import DecoderLayer
from openwork.nn.residual import PostNorm, PreNorm, SublayerConnection


class NativeDecoder:
    """The layers, the last norm and the output matrix of `model` in the form of step.cpp."""

    def __init__(self, model: Transformer, products: ProductType) -> None:
        built = library()
        self._layout = Layout.of(built, products)
        self._kept, self._kept_output = Kept(self._layout), Kept(self._layout)
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
        self._continue = getattr(built, f"openwork_continue_{products}")
        self._continue.argtypes = [ctypes.POINTER(DecoderFields), ctypes.POINTER(ContinuingFields)]
        self._continue.restype = None
        self._write = getattr(built, f"openwork_write_{products}")
        self._write.argtypes = [ctypes.POINTER(DecoderFields), ctypes.POINTER(WritingFields)]
        self._write.restype = None
        self.choose = built.openwork_best
        self.choose.argtypes = [ctypes.POINTER(ChoiceFields)]
        self.choose.restype = None

    def among(self, pieces: Int[Tensor, "pieces"]) -> "NativeDecoder":
        """The same with these rows of the output matrix."""
        fewer = copy(self)
        fewer._kept_output = Kept(self._layout)
        fewer.outputs = pieces.shape[0]
        fewer._fields = DecoderFields.from_buffer_copy(self._fields)
        bias = None if self._bias is None else self._bias[pieces]
        fewer._fields.output = fewer._kept_output.product(self._weight[pieces], bias)
        return fewer

    def extend(self, fields: ContinuingFields) -> None:
        """A step of the search of one sentence."""
        self._continue(self._fields, fields)

    def write(self, fields: WritingFields) -> None:
        """A step of the greedy search of many sentences."""
        self._write(self._fields, fields)

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
        attended = x.new_empty(rows, self._fields.heads, memory.size) if attends else None
        sentences = torch.zeros(rows, dtype=torch.int64) if is_one_row else _contiguous(state.sentences)
        table = _contiguous(state.rows)
        keys, values = zip(*past.buffers, strict=True)
        memory_keys, memory_values = zip(*memory.layers, strict=True)
        arrays = [addresses(tensors) for tensors in (keys, values, memory_keys, memory_values)]
        fields = StepFields(
            rows, state.position, past.rows, memory.size, int(is_one_row), x.data_ptr(), _place(table), None,
            _place(sentences), memory.lengths.data_ptr(), *(ctypes.addressof(array) for array in arrays),
            logits.data_ptr(), _place(attended),
        )  # fmt: skip
        self._step(self._fields, fields)
        return logits, None if attended is None else attended.mean(1)


def _contiguous(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _place(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


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
