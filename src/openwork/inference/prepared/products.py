"""Matrix products of a prepared model: x W^T + b, with the weights packed for the processor.

Each takes and returns float32. Packing costs time once, at loading:

    float32    weights in blocks for the vector unit
    bfloat16   the same at half the size; the terms are multiplied as bf16 and added up in float32
    int8       weights from -127 to 127 with a scale for each output; the input is rounded to 256 steps between its
               smallest and its largest number, anew for each product; terms are added up exactly, as integers

For products of 128 rows, 256 to 1,024, on one core with AVX-512 and VNNI: 112, 204 and 329 billion operations a second
(benchmarks/results/translating.json).
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Literal

import torch
from jaxtyping import Float, Int8
from torch import Tensor
from torch.nn import functional

Product = Callable[[Tensor], Tensor]
"""From rows (..., width) to rows (..., outputs), both in float32."""

ProductType = Literal["float32", "bfloat16", "int8"]

FEW_ROWS = 8  # float32: up to so many rows, plain weights are faster than packed ones
MANY_ROWS, MANY_OUTPUTS = 96, 2048  # int8: from here on the library for large products is the faster one


def float32_product(weight: Tensor, bias: Tensor | None, rectified: bool = False) -> Product:
    """The product as the model has it; with `rectified`, max(0, .) of it."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight)
    after = "relu" if rectified else "none"

    def product(x: Tensor) -> Tensor:
        if x.numel() > FEW_ROWS * x.shape[-1]:
            return torch.ops.mkldnn._linear_pointwise(x, packed, bias, after, [], "")
        made = functional.linear(x, weight, bias)
        return made.relu_() if rectified else made

    return product


def bfloat16_product(weight: Tensor, bias: Tensor | None, rectified: bool = False) -> Product:
    """Multiplied in bf16: its eight bits of precision are enough for translations."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.bfloat16())
    narrow = None if bias is None else bias.bfloat16()
    after = "relu" if rectified else "none"

    def product(x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x.bfloat16(), packed, narrow, after, [], "").float()

    return product


def int8_product(weight: Tensor, bias: Tensor | None, rectified: bool = False) -> Product:
    """Multiplied in integers of eight bits. All rows share one scale, so a row's result depends on the other rows."""
    few = _packed(weight, bias, "fbgemm")
    many = _packed(weight, bias, "onednn") if weight.shape[0] >= MANY_OUTPUTS else few
    operator = torch.ops.quantized.linear_relu_dynamic if rectified else torch.ops.quantized.linear_dynamic
    multiply = operator.default._op  # skips the check at each call whether Python implements it

    def product(x: Tensor) -> Tensor:
        packed = many if x.numel() >= MANY_ROWS * x.shape[-1] else few
        return multiply(x, packed, False)

    return product


def quantised(
    weight: Float[Tensor, "outputs width"], most_of_two: int = 0
) -> tuple[Int8[Tensor, "outputs width"], Float[Tensor, "outputs"]]:
    """The weights as integers from -127 to 127, and the scale of each output.

    `most_of_two`, unless it is 0: two weights of one sign side by side (the first and second, the third and fourth ...)
    are at most so large together, for instructions whose sums of two products would overflow.
    """
    scale = weight.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / 127
    if most_of_two:
        pairs = torch.stack([weight, -weight]).clamp(min=0).unflatten(2, (-1, 2)).sum(3)
        scale = torch.maximum(scale, pairs.amax((0, 2)) / (most_of_two - 1))  # each may round up by a half
    return (weight / scale[:, None]).round().to(torch.int8), scale


def _packed(weight: Tensor, bias: Tensor | None, library: str) -> torch.ScriptObject:
    integers, scale = quantised(weight)
    zero = torch.zeros(scale.shape[0], dtype=torch.int64)
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = library
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of deprecation: see `available`
            made = torch._make_per_channel_quantized_tensor(integers, scale.double(), zero, 0)
            return torch.ops.quantized.linear_prepack(made, bias)
    finally:
        torch.backends.quantized.engine = before


PRODUCTS: Mapping[ProductType, Callable[..., Product]] = {
    "float32": float32_product,
    "bfloat16": bfloat16_product,
    "int8": int8_product,
}


def available() -> list[ProductType]:
    """The product types for which this processor has instructions and this torch has operators; float32 always.

    Without the instructions bf16 is slower than float32, and int8 on an older processor saturates its sums.
    """
    found: list[ProductType] = ["float32"]
    # ONEDNN_MAX_CPU_ISA keeps oneDNN from such instructions
    if torch.cpu._is_avx512_bf16_supported() and torch.ops.mkldnn._is_mkldnn_bf16_supported():
        found.append("bfloat16")
    has_libraries = {"fbgemm", "onednn"} <= set(torch.backends.quantized.supported_engines)
    if torch.cpu._is_vnni_supported() and has_libraries and hasattr(torch, "_make_per_channel_quantized_tensor"):
        found.append("int8")
    return found
