"""The structures of structures.h, field for field, and their contents."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_float, c_int32, c_void_p

import torch
from torch import Tensor, nn
from torch.nn import functional

from openwork.inference.prepared.products import quantised

PANEL, FOUR, TILE = 64, 4, 64
"""As in tiles.h: outputs computed together, products of bytes that one instruction adds up, bytes of a tile's row."""

UNSIGNED = 128
"""Added to the weights, as the instruction multiplies unsigned bytes with signed ones."""


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
        ("x", c_void_p), ("past_row", c_void_p), ("sentence", c_void_p), ("lengths", c_void_p),
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


class Kept:
    """Makes structures, and keeps the tensors they point to alive."""

    def __init__(self, float_panel: int | None) -> None:
        """`float_panel`: outputs of a panel of products in float32; None: products are in eight bits."""
        self._tensors: list[Tensor] = []
        self._float_panel = float_panel

    def product(self, weight: Tensor, bias: Tensor | None) -> ProductFields:
        """A matrix (outputs, inputs) in float32, or rounded to eight bits."""
        panel = self._float_panel or PANEL
        padded = None if bias is None else self._address(functional.pad(bias.detach(), (0, -weight.shape[0] % panel)))
        if self._float_panel is None:
            integers, scales = quantised(weight)
            # a tile of tiles.h reads beyond the last panel, and multiplies by zeros
            panels, steps = functional.pad(in_panels(integers).flatten(), (0, PANEL * TILE)), self._address(scales)
        else:
            panels, steps = float_panels(weight, panel), None
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


def in_panels(integers: Tensor) -> Tensor:
    """Weights (outputs, inputs) from -127 to 127 as integers.h reads them.

    [outputs / PANEL][inputs / FOUR][PANEL][FOUR]. The last panel is padded with unused outputs.
    """
    outputs, inputs = integers.shape
    unsigned = (integers.to(torch.int16) + UNSIGNED).to(torch.uint8)
    filled = functional.pad(unsigned, (0, 0, 0, -outputs % PANEL), value=UNSIGNED)
    return filled.view(-1, PANEL, inputs // FOUR, FOUR).transpose(1, 2).contiguous()


def addresses(tensors: Sequence[Tensor]) -> ctypes.Array[c_void_p]:
    return (c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
