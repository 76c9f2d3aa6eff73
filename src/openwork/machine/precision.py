"""Precision of matrix products, float32 or bfloat16, and their rate. Weights, sums and statistics stay in float32."""

import time
from contextlib import AbstractContextManager
from typing import Literal

import torch

from openwork.machine.card import card_of

PrecisionName = Literal["float32", "bfloat16"]
TYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# bfloat16 products must be faster by this factor, since the rest of a step (softmax, norms, casts) gains nothing.
WORTHWHILE = 1.5


def product_seconds(left: torch.Tensor, right: torch.Tensor) -> float:
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
    if (card := card_of(device)) is not None:
        return "bfloat16" if card.has_bfloat16 else "float32"
    faster = _seconds(torch.float32, device) > WORTHWHILE * _seconds(torch.bfloat16, device)
    return "bfloat16" if faster else "float32"


def computing_in(precision: PrecisionName, device: torch.device) -> AbstractContextManager[object]:
    """A context in which matrix products use `precision`."""
    return torch.autocast(device.type, dtype=TYPES[precision], enabled=precision != "float32")


SIZES = {"cpu": (256, 512, 1024, 2048), "cuda": (1024, 2048, 4096, 8192)}  # rows and columns; larger are not faster
MOST = 20  # products of each size


def matrix_rate(precision: PrecisionName, device: torch.device, seconds: float = 1.0) -> float:
    """Floating-point operations per second of products of two square matrices: the best within the time limit.

    Small products come first. A larger one is tried only if it fits into the remaining time by the best rate so far: on
    a processor without instructions for a number type the largest would take a minute.
    """
    end, best = time.perf_counter() + seconds, 0.0
    for size in SIZES[device.type]:
        operations, matrices = 2 * size**3, None
        for _ in range(MOST):
            if best and time.perf_counter() + operations / best > end:
                break
            if matrices is None:
                matrices = torch.ones(2, size, size, dtype=TYPES[precision], device=device)
            best = max(best, operations / product_seconds(matrices[0], matrices[1]))
    return best
