"""The products of linear layers in bfloat16 on a CPU by products.cpp, on processors with AVX-512's pairs of bfloat16.

The framework's use the same instruction. These add the bias and apply max(0, .) before they store, prefetch the next
factor, and add up gradients in float32 (docs/speed.md). Weights change with each update, so nothing is packed ahead.
"""

import ctypes
from contextlib import nullcontext
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import profiler
from torch.profiler import record_function

from openwork.machine.native.building import library
from openwork.nn.kernels import native

PANEL = 32  # columns of the right factor that are packed together; numbers of a cache line


class PairProductFields(ctypes.Structure):
    """Those of products.cpp."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("left", "right", "bias", "out", "packed")),
        *((name, ctypes.c_int64) for name in ("left_step", "right_step", "out_step", "rows", "columns", "count")),
        ("threads", ctypes.c_int64), ("is_rectified", ctypes.c_int64),
    ]  # fmt: skip


@cache
def has_pairs() -> bool:
    """Whether the functions are there: compiled, and for a processor that has the instruction."""
    return native.is_available() and bool(library(native.FUNCTIONS).openwork_has_pairs())


@cache
def is_available() -> bool:
    """Whether the functions are used. By AMX's tiles the framework is faster."""
    return has_pairs() and not torch.cpu._is_amx_tile_supported()  # type: ignore[no-untyped-call]


def takes(rows: Tensor, columns: Tensor) -> bool:
    """Whether products of these matrices (rows, width) and (columns, width) are computed here.

    `columns` may be the transpose of the factor: of a weight, or of a gradient. What autograd records is not: these
    functions are called in its functions, where nothing is recorded unless second derivatives are wanted.
    """
    return (
        rows.dtype is torch.bfloat16
        and native.takes(rows, columns)
        and is_available()
        and len(rows) > 0
        and rows.shape[1] % 2 == len(columns) % 2 == 0
        and not (torch.is_grad_enabled() and (rows.requires_grad or columns.requires_grad))
    )


def linear(
    x: Float[Tensor, "rows width"],
    weight: Float[Tensor, "after width"],
    bias: Tensor | None = None,
    *,
    is_rectified: bool = False,
) -> Float[Tensor, "rows after"]:
    """x W^T + b, or max(0, .) of it."""
    out = x.new_empty(x.shape[0], weight.shape[0])
    _call("product_turned", x, weight, out, x.shape[1], bias, is_rectified=is_rectified)
    return out


def logits(x: Float[Tensor, "rows width"], weight: Float[Tensor, "after width"]) -> Float[Tensor, "rows after"]:
    """x W^T in rows that begin with a cache line: half of a tile's row would be in another one."""
    out = x.new_empty(x.shape[0], _filled(weight.shape[0]))[:, : weight.shape[0]]
    _call("product_turned", x, weight, out, x.shape[1])
    return out


def by_input(
    gradient: Float[Tensor, "rows after"], weight: Float[Tensor, "after width"]
) -> Float[Tensor, "rows width"]:
    """The gradient by x."""
    out = gradient.new_empty(gradient.shape[0], weight.shape[1])
    _call("product", gradient, weight, out, gradient.shape[1])
    return out


def by_weight(gradient: Float[Tensor, "rows after"], x: Float[Tensor, "rows width"]) -> Float[Tensor, "after width"]:
    """The gradient by W."""
    out = x.new_empty(gradient.shape[1], x.shape[1])
    _call("product_of_columns", gradient, x, out, x.shape[0])
    return out


def add_by_weight(
    gradient: Float[Tensor, "rows after"], x: Float[Tensor, "rows width"], to: Float[Tensor, "after width"]
) -> None:
    """Adds the gradient by W to that of other rows, which is in float32."""
    _call("add_product_of_columns", gradient, x, to, x.shape[0])


def _call(
    name: str, left: Tensor, right: Tensor, out: Tensor, count: int, bias: Tensor | None = None, *,
    is_rectified: bool = False,
) -> None:  # fmt: skip
    left, right = map(_in_rows, (left, right))
    rows, columns = out.shape
    packed = left.new_empty(_filled(columns) * (count + count % 2))
    fields = PairProductFields(
        left.data_ptr(), right.data_ptr(), None if bias is None else bias.data_ptr(), out.data_ptr(), packed.data_ptr(),
        left.stride(0), right.stride(0), out.stride(0), rows, columns, count, native.threads_for(out), is_rectified,
    )  # fmt: skip
    compute = native.function(name, torch.bfloat16, ctypes.POINTER(PairProductFields))
    with record_function("openwork::product") if profiler._is_profiler_enabled else nullcontext():
        compute(ctypes.byref(fields))


def _filled(columns: int) -> int:
    """As many columns as fill panels."""
    return -(-columns // PANEL) * PANEL


def _in_rows(matrix: Tensor) -> Tensor:
    """With the numbers of a row side by side, and its pairs, too."""
    return matrix if matrix.stride(1) == 1 and matrix.stride(0) % 2 == 0 else matrix.contiguous()
