"""The structures of structures.h, field for field, and their contents."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_float, c_int32, c_void_p
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from openwork.inference.prepared.products import ProductType, quantised

FOUR = 4
"""In eight bits, inputs come in whole groups of so many, whatever instructions there are."""

TILE = 64
"""As in tiles.h: bytes of a tile's row."""

CACHE_TYPES: dict[ProductType, torch.dtype] = {"float32": torch.float32, "int8": torch.bfloat16}
"""The type of keys and values beside products of each type."""


@dataclass(frozen=True)
class Layout:
    """How the compiled products read a matrix: `panel` outputs together."""

    panel: int

    @classmethod
    def of(cls, built: ctypes.CDLL, products: ProductType) -> "Layout":
        if products == "float32":
            return cls(built.openwork_float_panel())
        return IntegerLayout(
            built.openwork_integer_panel(),
            built.openwork_integer_added_to_weights(),
            built.openwork_integer_added_to_rows(),
            built.openwork_integer_most_of_two(),
        )


@dataclass(frozen=True)
class IntegerLayout(Layout):
    """In eight bits. What is added makes signed numbers unsigned; `most_of_two`: see `quantised`."""

    added_to_weights: int
    added_to_rows: int
    most_of_two: int


class ProductFields(Structure):
    """y = x W^T + b."""

    _fields_ = (
        ("inputs", c_int32), ("outputs", c_int32), ("weights", c_void_p), ("scales", c_void_p), ("bias", c_void_p),
    )  # fmt: skip


class NormFields(Structure):
    """Layer normalisation; without a gain, no norm."""

    _fields_ = (("gain", c_void_p), ("shift", c_void_p), ("epsilon", c_float))


class LayerFields(Structure):
    _fields_ = (
        ("project", ProductFields), ("self_output", ProductFields), ("query", ProductFields),
        ("cross_output", ProductFields), ("expand", ProductFields), ("contract", ProductFields),
        ("self_norm", NormFields), ("cross_norm", NormFields), ("feedforward_norm", NormFields),
    )  # fmt: skip


class DecoderFields(Structure):
    """All layers, the last norm and the output matrix."""

    _fields_ = (
        ("layers", c_int32), ("width", c_int32), ("heads", c_int32), ("key_width", c_int32), ("value_width", c_int32),
        ("norm_first", c_int32), ("layer", POINTER(LayerFields)), ("final_norm", NormFields), ("output", ProductFields),
    )  # fmt: skip


class StepFields(Structure):
    _fields_ = (
        ("rows", c_int32), ("position", c_int32), ("past_rows", c_int32), ("source", c_int32), ("is_one_row", c_int32),
        ("x", c_void_p), ("past_row", c_void_p), ("own", c_void_p), ("sentence", c_void_p), ("lengths", c_void_p),
        ("past_keys", c_void_p), ("past_values", c_void_p), ("memory_keys", c_void_p), ("memory_values", c_void_p),
        ("logits", c_void_p), ("attended", c_void_p),
    )  # fmt: skip


class ChoiceFields(Structure):
    """The best few tokens of a vocabulary, for many rows."""

    _fields_ = (
        ("rows", c_int32), ("vocabulary", c_int32), ("count", c_int32), ("logits", c_void_p), ("added", c_void_p),
        ("scores", c_void_p), ("ids", c_void_p), ("normaliser", c_void_p),
    )  # fmt: skip


class EncoderLayerFields(Structure):
    _fields_ = (
        ("project", ProductFields), ("output", ProductFields), ("expand", ProductFields), ("contract", ProductFields),
        ("attention_norm", NormFields), ("feedforward_norm", NormFields),
    )  # fmt: skip


class EncoderFields(Structure):
    """All layers, the last norm, and the matrix to the keys and values of the decoder's layers."""

    _fields_ = (
        ("layers", c_int32), ("width", c_int32), ("heads", c_int32), ("key_width", c_int32), ("value_width", c_int32),
        ("norm_first", c_int32), ("layer", POINTER(EncoderLayerFields)), ("final_norm", NormFields),
        ("memory", ProductFields), ("memory_layers", c_int32), ("memory_key_width", c_int32),
        ("memory_value_width", c_int32),
    )  # fmt: skip


class ReadingFields(Structure):
    """Sentences that the encoder reads."""

    _fields_ = (
        ("sentences", c_int32), ("longest", c_int32), ("x", c_void_p), ("lengths", c_void_p),
        ("memory_keys", c_void_p), ("memory_values", c_void_p),
    )  # fmt: skip


class ContinuingFields(Structure):
    """The hypotheses for one sentence, each continued by one token."""

    _fields_ = (
        ("rows", c_int32), ("rows_before", c_int32), ("position", c_int32), ("past_rows", c_int32), ("source", c_int32),
        ("count", c_int32), ("scale", c_float), ("table", c_void_p), ("places", c_void_p), ("tokens", c_void_p),
        ("parents", c_void_p), ("values", c_void_p), ("past_row", c_void_p), ("lengths", c_void_p),
        ("past_keys", c_void_p), ("past_values", c_void_p), ("memory_keys", c_void_p), ("memory_values", c_void_p),
        ("added", c_void_p), ("sums", c_void_p), ("ids", c_void_p), ("normaliser", c_void_p),
    )  # fmt: skip


class WritingFields(Structure):
    """Targets of many sentences, written by greedy search."""

    _fields_ = (
        ("sentences", c_int32), ("rows", c_int32), ("position", c_int32), ("source", c_int32), ("stride", c_int32),
        ("end", c_int32), ("scale", c_float), ("table", c_void_p), ("places", c_void_p), ("live", c_void_p),
        ("tokens", c_void_p), ("limits", c_void_p), ("totals", c_void_p), ("lengths", c_void_p),
        ("past_keys", c_void_p), ("past_values", c_void_p), ("memory_keys", c_void_p), ("memory_values", c_void_p),
        ("added", c_void_p), ("normaliser", c_float),
    )  # fmt: skip


class Kept:
    """Makes structures, and keeps the tensors they point to alive."""

    def __init__(self, layout: Layout) -> None:
        self._tensors: list[Tensor] = []
        self._layout = layout

    def product(self, weight: Tensor, bias: Tensor | None) -> ProductFields:
        """A matrix (outputs, inputs) in float32, or rounded to eight bits."""
        padding = (0, -weight.shape[0] % self._layout.panel)
        padded = None if bias is None else self._address(functional.pad(bias.detach(), padding))
        if isinstance(self._layout, IntegerLayout):
            integers, scales = quantised(weight, self._layout.most_of_two)
            panels, steps = integer_panels(integers, self._layout), self._address(functional.pad(scales, padding))
        else:
            panels, steps = float_panels(weight, self._layout.panel), None
        return ProductFields(weight.shape[1], weight.shape[0], self._address(panels), steps, padded)

    def norm(self, norm: nn.Module) -> NormFields:
        """A layer normalisation; for anything else no norm."""
        if not isinstance(norm, nn.LayerNorm):
            return NormFields()
        shift = None if norm.bias is None else self._address(norm.bias)
        return NormFields(self._address(norm.weight), shift, norm.eps)

    def _address(self, tensor: Tensor) -> int:
        own = tensor.detach().contiguous()
        self._tensors.append(own)
        return own.data_ptr()


def float_panels(weight: Tensor, panel: int) -> Tensor:
    """Weights (outputs, inputs) as floats.h reads them: [outputs / panel][inputs][panel].

    The last panel is padded with unused outputs.
    """
    filled = functional.pad(weight.detach(), (0, 0, 0, -weight.shape[0] % panel))
    return filled.unflatten(0, (-1, panel)).transpose(1, 2).contiguous()


def integer_panels(integers: Tensor, layout: IntegerLayout) -> Tensor:
    """Weights (outputs, inputs) from -127 to 127 as integers.h and bytes.h read them, one after the other.

    [outputs / panel][inputs / FOUR][panel][FOUR]. The last panel is padded with unused outputs. Where something is
    added to the numbers of a row, a panel begins with what this adds to its sums, negative, in 32 bits. A tile
    reads beyond the last panel, and multiplies by zeros.
    """
    filled = functional.pad(integers, (0, 0, 0, -integers.shape[0] % layout.panel)).to(torch.int32)
    panels = filled.view(-1, layout.panel, integers.shape[1] // FOUR, FOUR)
    made = (panels + layout.added_to_weights).to(torch.uint8).transpose(1, 2).flatten(1)
    if layout.added_to_rows:
        heads = -layout.added_to_rows * panels.sum((2, 3), dtype=torch.int32)
        made = torch.cat([heads.contiguous().view(torch.uint8), made], 1)
    return functional.pad(made.flatten(), (0, layout.panel * TILE))


def addresses(tensors: Sequence[Tensor]) -> ctypes.Array[c_void_p]:
    return (c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
