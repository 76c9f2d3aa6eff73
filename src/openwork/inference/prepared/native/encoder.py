"""The encoder as encoder.cpp computes it."""

import ctypes

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.inference.prepared.caches import PreparedMemory
from openwork.inference.prepared.layers import side_by_side
from openwork.inference.prepared.native.sources import library
from openwork.inference.prepared.native.structures import (
    CACHE_TYPES,
    EncoderFields,
    EncoderLayerFields,
    Kept,
    Layout,
    ProductFields,
    ReadingFields,
    addresses,
)
from openwork.inference.prepared.products import ProductType
from openwork.models.seq2seq import Transformer
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import EncoderLayer
from openwork.nn.residual import PostNorm, PreNorm


class NativeEncoder:
    """The layers and the last norm of the encoder, and the matrices of the decoder that make keys and values of what
    it gives."""

    def __init__(self, model: Transformer, products: ProductType) -> None:
        built = library()
        self._kept, self._type = Kept(Layout.of(built, products)), CACHE_TYPES[products]
        layers = [_layer(layer, self._kept) for layer in model.encoder.layers]  # type: ignore[arg-type]
        self._layers = (EncoderLayerFields * len(layers))(*layers)
        first: EncoderLayer = model.encoder.layers[0]  # type: ignore[assignment]
        attention, crosses = first.self_attention, [layer.cross_attention for layer in model.decoder.layers]
        cross: MultiHeadAttention = crosses[0]  # type: ignore[assignment]
        self._heads = attention.heads.count
        self._widths = cross.key.out_features // self._heads, cross.value.out_features // self._heads
        parts = [part for one in crosses for part in (one.key, one.value)]
        self._fields = EncoderFields(
            len(layers), attention.query.in_features, self._heads,
            attention.key.out_features // self._heads, attention.value.out_features // self._heads,
            int(isinstance(first.attention_wiring, PreNorm)), self._layers, self._kept.norm(model.encoder.final_norm),
            side_by_side(parts, self._kept.product, [1.0] * len(parts)), len(crosses), *self._widths,
        )  # fmt: skip
        self._read = getattr(built, f"openwork_read_{products}")
        self._read.argtypes = [ctypes.POINTER(EncoderFields), ctypes.POINTER(ReadingFields)]
        self._read.restype = None

    def read(self, x: Float[Tensor, "batch source width"], lengths: Int[Tensor, "batch"]) -> PreparedMemory:
        """The memory of sentences, of which `x` has the embeddings with their positions."""
        sentences, longest, _ = x.shape
        x, lengths = x.contiguous(), lengths.contiguous()
        keys, values = (
            torch.empty(self._fields.memory_layers, sentences, self._heads, longest, width, dtype=self._type).unbind()
            for width in self._widths
        )
        arrays = addresses(keys), addresses(values)
        fields = ReadingFields(sentences, longest, x.data_ptr(), lengths.data_ptr(), *map(ctypes.addressof, arrays))
        self._read(self._fields, fields)
        return PreparedMemory(list(zip(keys, values, strict=True)), lengths, longest)


def _layer(layer: EncoderLayer, kept: Kept) -> EncoderLayerFields:
    own, network = layer.self_attention, layer.feedforward
    attention, feedforward = layer.attention_wiring, layer.feedforward_wiring
    assert isinstance(network, FeedForward)
    assert isinstance(attention, PreNorm | PostNorm) and isinstance(feedforward, PreNorm | PostNorm)

    def product(linear: nn.Linear) -> ProductFields:
        return kept.product(linear.weight, linear.bias)

    return EncoderLayerFields(
        side_by_side([own.query, own.key, own.value], kept.product, (own.scale, 1.0, 1.0)), product(own.output),
        product(network.expand), product(network.contract), kept.norm(attention.norm), kept.norm(feedforward.norm),
    )  # fmt: skip
