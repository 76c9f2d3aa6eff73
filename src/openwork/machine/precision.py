"""Precision of matrix products: float32 or bfloat16. Weights, sums and statistics stay in float32."""

import time
from contextlib import AbstractContextManager
from typing import Literal

import torch

PrecisionName = Literal["float32", "bfloat16"]
TYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# bfloat16 products must be faster by this factor, since the rest of a step (softmax, norms, casts) gains nothing.
WORTHWHILE = 1.5


def product_seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    """Time of one matrix product."""
    start = time.perf_counter()
    torch.mm(left, right)
    if left.device.type == "cuda":
        torch.cuda.synchronize(left.device)
    return time.perf_counter() - start


def _seconds(dtype: torch.dtype, device: torch.device) -> float:
    """Time of the fastest of eight products of two square matrices."""
    matrix = torch.ones(512, 512, dtype=dtype, device=device)
    return min(product_seconds(matrix, matrix) for _ in range(8))


def choose_precision(wanted: str, device: torch.device) -> PrecisionName:
    """`wanted`, or for "auto" the faster type on this machine.

    A CPU is measured (about 20 ms). A GPU has bfloat16 products from compute capability 8.0 on; a small product would
    only measure the time to launch one.
    """
    if wanted == "float32" or wanted == "bfloat16":
        return wanted
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.get_device_capability(device) >= (8, 0) else "float32"
    faster = _seconds(torch.float32, device) > WORTHWHILE * _seconds(torch.bfloat16, device)
    return "bfloat16" if faster else "float32"


def computing_in(precision: PrecisionName, device: torch.device) -> AbstractContextManager[object]:
    """A context in which matrix products use `precision`."""
    return torch.autocast(device.type, dtype=TYPES[precision], enabled=precision != "float32")
