"""x + Dropout(y), and its layer normalisation, on a CPU by norm.cpp: each number is read and written once."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from openwork.nn.kernels import native

STEPS = 256  # of which a rate of dropout is a multiple


class NormOfSumFields(ctypes.Structure):
    """Those of norm.cpp."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("x", "added", "gain", "shift", "output", "means", "scales", "gradient")),
        *((name, ctypes.c_void_p) for name in ("by_sum", "by_added", "by_gain", "by_shift")),
        ("rows", ctypes.c_int64), ("width", ctypes.c_int64), ("epsilon", ctypes.c_float), ("key", ctypes.c_uint64),
        ("threshold", ctypes.c_int64), ("threads", ctypes.c_int64),
    ]  # fmt: skip


class NormOfSum(torch.autograd.Function):
    """LayerNorm(x + Dropout(added)) of rows (row, width); with the threshold 0 nothing is dropped.

    `key`: what the mask follows from, 64 bits.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, added: Tensor | None, gain: Tensor, shift: Tensor, epsilon: float, threshold: int, key: int
    ) -> Tensor:
        x, added = x.contiguous(), None if added is None else added.contiguous()
        output, statistics = torch.empty_like(x), torch.empty(2, len(x))
        given = {"x": x, "added": added, "gain": gain, "means": statistics[0], "scales": statistics[1]}
        ctx.numbers = {"epsilon": epsilon, "threshold": threshold, "key": key}
        _call("norm", x, {**given, "shift": shift, "output": output}, ctx.numbers)
        ctx.save_for_backward(x, added, gain, statistics)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        x, added, gain, statistics = ctx.saved_tensors
        by_sum, drops = torch.empty_like(x), ctx.numbers["threshold"] > 0
        by_added = torch.empty_like(x) if drops else by_sum
        sums = torch.zeros(2, native.threads_for(x), x.shape[1])
        given = {"x": x, "added": added, "gain": gain, "means": statistics[0], "scales": statistics[1]}
        made = {"by_sum": by_sum, "by_added": by_added, "by_gain": sums[0], "by_shift": sums[1]}
        _call("norm_backward", x, {**given, **made, "gradient": gradients[0].contiguous()}, ctx.numbers)
        by_gain, by_shift = sums.sum(dim=1)
        return by_sum, None if added is None else by_added, by_gain, by_shift, None, None, None


class DroppedSum(torch.autograd.Function):
    """x + Dropout(added) of rows (row, width)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, added: Tensor, threshold: int, key: int) -> Tensor:
        x, added = x.contiguous(), added.contiguous()
        output = torch.empty_like(x)
        ctx.numbers = {"threshold": threshold, "key": key}
        _call("sum", x, {"x": x, "added": added, "output": output}, ctx.numbers)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        gradient = gradients[0].contiguous()
        by_added = torch.empty_like(gradient)
        _call("sum_backward", gradient, {"gradient": gradient, "by_added": by_added}, ctx.numbers)
        return gradient, by_added, None, None


def _call(name: str, x: Tensor, tensors: dict[str, Tensor | None], numbers: dict[str, Any]) -> None:
    fields = NormOfSumFields(rows=x.shape[0], width=x.shape[1], threads=native.threads_for(x), **numbers)
    for field, tensor in tensors.items():
        setattr(fields, field, None if tensor is None else tensor.data_ptr())
    native.function(name, x.dtype, ctypes.POINTER(NormOfSumFields))(ctypes.byref(fields))
