"""The layers of a Transformer as plain products in one number type."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from openwork.base.symbols import SYMBOL_IDS
from openwork.inference.prepared.layers import (
    MemoryProjection,
    PreparedDecoderLayer,
    PreparedEncoderLayer,
    PreparedSelfAttention,
    linear,
    prepared_norm,
)
from openwork.inference.prepared.products import Product
from openwork.inference.prepared.transformer import has_plain_parts
from openwork.models.seq2seq import Transformer
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.normalisation import BatchNorm, RMSNorm
from openwork.nn.positions import LearnedPositions, NoPositions, NormalisedPositions, SinusoidalPositions
from openwork.nn.shapes import Source

Part = TypeVar("Part", bound=nn.Module)

ALIGNED = 8  # positions, of two bytes each, that are read together


def can_be_fixed(model: nn.Module) -> bool:
    """Whether it is a Transformer of plain parts, whatever its device and its number type.

    Batch norms are left out: their statistics are not for narrow types.
    """
    if (
        type(model) is not Transformer
        or not has_plain_parts(model)
        or type(model.source_embedding) is not TokenEmbedding
        or type(model.target_embedding) is not TokenEmbedding
    ):
        return False
    positions = model.target_positions
    added = positions.added if isinstance(positions, NormalisedPositions) else positions
    is_known = isinstance(added, SinusoidalPositions | LearnedPositions | NoPositions)
    return is_known and not any(isinstance(part, BatchNorm) for part in model.modules())


class FixedWeights:
    """What `model`, which `can_be_fixed`, computes with, in `dtype`. The embedding of sources is the model's own.

    `tensors`: copies of its weights, whose places in memory graphs have in them.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, dtype: torch.dtype) -> None:
        self.model, self.dtype = model, dtype
        self.device = model.output_weight.device
        encoder, decoder = _in_type(model.encoder, dtype), _in_type(model.decoder, dtype)
        positions = _in_type(model.target_positions, dtype)
        self.tensors: list[Tensor] = []
        make = partial(plain_product, dtype, self.tensors)
        self.encoder_layers = [PreparedEncoderLayer(layer, make) for layer in encoder.layers]  # type: ignore[arg-type]
        self.encoder_norm = prepared_norm(encoder.final_norm)
        self.layers = [PreparedDecoderLayer(layer, make) for layer in decoder.layers]  # type: ignore[arg-type]
        self.memory = MemoryProjection([layer.cross_attention for layer in decoder.layers], make)  # type: ignore[misc]
        self.norm = prepared_norm(decoder.final_norm)
        self.narrow = linear(model.narrow, make) if isinstance(model.narrow, nn.Linear) else None
        self.output = make(model.output_weight, model.output_bias)
        self.vocabulary = model.output_weight.shape[0]
        embedding = model.target_embedding
        self.table = (embedding.table.weight.detach() * embedding.scale).to(dtype)
        self.positions = positions.added if isinstance(positions, NormalisedPositions) else positions
        self.embedding_norm = prepared_norm(positions.norm) if isinstance(positions, NormalisedPositions) else None
        self.tensors += [self.table, *_norm_weights(encoder, decoder, positions)]

    def refresh(self) -> None:
        """Takes over the weights that the model has now, where those before are."""
        fresh = FixedWeights(self.model, self.dtype)
        for own, new in zip(self.tensors, fresh.tensors, strict=True):
            own.copy_(new)
        self.positions = fresh.positions

    def position_vectors(self, count: int) -> Float[Tensor, "position width"]:
        """Those of the first `count` positions; zeros after the end of a learned table, which no target reaches."""
        vectors = torch.zeros(count, self.table.shape[1], dtype=self.dtype, device=self.device)
        if isinstance(self.positions, SinusoidalPositions | LearnedPositions):
            known = min(count, self.positions.maximum_length or count)
            vectors[:known] = self.positions.rows(0, known).to(self.dtype)
        return vectors

    def widened(self, source: Source) -> Source:
        """With padding, so that the framework need not make its own where it wants masks of whole vectors."""
        missing = -source.shape[1] % ALIGNED
        if not missing or self.device.type != "cuda" or self.model.maximum_length is not None:
            return source
        return functional.pad(source, (0, missing), value=SYMBOL_IDS.pad)

    def read(self, source: Source, hidden: Bool[Tensor, "sentence source"]) -> Float[Tensor, "sentence source width"]:
        """The encoder's output. `hidden`: the positions that no other attends to, such as padding."""
        model = self.model
        x = model.source_positions(model.source_embedding(source)).to(self.dtype)
        bias = torch.zeros(hidden.shape, dtype=self.dtype, device=x.device).masked_fill_(hidden, -torch.inf)
        for layer in self.encoder_layers:
            x = layer.attention_wiring.after(x, _attended(layer.attention, layer.attention_wiring.before(x), bias))
            x = layer.feedforward_wiring.after(x, layer.feedforward(layer.feedforward_wiring.before(x)))
        return self.encoder_norm(x)

    def logits(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows vocabulary"]:
        x = self.norm(x)
        return self.output(x if self.narrow is None else self.narrow(x))


def _attended(
    attention: PreparedSelfAttention, x: Float[Tensor, "sentence source width"], bias: Float[Tensor, "sentence source"]
) -> Float[Tensor, "sentence source after"]:
    """Every position attends to all that are not hidden, of which the bias makes the scores minus infinity."""
    query, key, value = (
        part.unflatten(-1, (attention.heads, -1)).transpose(1, 2)
        for part in attention.project(x).split(attention.widths, -1)
    )
    mask = bias[:, None, None].expand(-1, attention.heads, x.shape[1], -1)
    found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)
    return attention.output(found.transpose(1, 2).flatten(-2))


def plain_product(
    dtype: torch.dtype, tensors: list[Tensor], weight: Tensor, bias: Tensor | None, rectified: bool = False
) -> Product:
    """A product in `dtype`, or with `rectified` max(0, .) of it; its copies of weight and bias come into `tensors`."""
    narrow = weight.detach().to(dtype, copy=True)
    added = None if bias is None else bias.detach().to(dtype, copy=True)
    tensors += [narrow] if added is None else [narrow, added]
    make: Callable[..., Tensor] = functional.linear
    return (lambda x: make(x, narrow, added).relu_()) if rectified else (lambda x: make(x, narrow, added))


def _in_type(part: Part, dtype: torch.dtype) -> Part:
    """A copy with its layer norms in this type: their kernels take no two types. Products convert their own."""
    copied = deepcopy(part)
    for module in copied.modules():
        if isinstance(module, nn.LayerNorm):
            module.to(dtype)
    return copied


def _norm_weights(*parts: nn.Module) -> list[Tensor]:
    """Those of all norms."""
    norms = [module for part in parts for module in part.modules() if isinstance(module, nn.LayerNorm | RMSNorm)]
    return [weight.detach() for norm in norms for weight in norm.parameters()]
