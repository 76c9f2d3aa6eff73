"""Which number type the matrix products use. Weights, sums and statistics stay in float32."""

import time
from contextlib import AbstractContextManager
from typing import Literal

import torch

PrecisionName = Literal["float32", "bfloat16"]
TYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# bf16 must win clearly, because the rest of a step (softmax, norms, casts) does not gain from it.
WORTHWHILE = 1.5


def _seconds(dtype: torch.dtype, device: torch.device, size: int = 512, repeats: int = 8) -> float:
    """The fastest of some products of two square matrices."""
    left = torch.ones(size, size, dtype=dtype, device=device)
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(left, left)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def choose_precision(wanted: str, device: torch.device) -> PrecisionName:
    """`wanted` itself, or for "auto" the type that is faster on this machine.

    A processor is measured (about 20 ms). A GPU is known by what it is: from compute capability 8.0 on it has
    bfloat16 products, and a small product would only measure how long it takes to begin one.
    """
    if wanted == "float32" or wanted == "bfloat16":
        return wanted
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.get_device_capability(device) >= (8, 0) else "float32"
    faster = _seconds(torch.float32, device) > WORTHWHILE * _seconds(torch.bfloat16, device)
    return "bfloat16" if faster else "float32"


def computing_in(precision: PrecisionName, device: torch.device) -> AbstractContextManager[object]:
    """Within it, matrix products take `precision`; the mathematics does not know."""
    return torch.autocast(device.type, dtype=TYPES[precision], enabled=precision != "float32")
