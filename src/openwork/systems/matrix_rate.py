"""How fast this machine multiplies matrices: what no training step can surpass."""

import time

import torch

from openwork.training.precision import TYPES, PrecisionName

SIZE = 2048  # rows and columns: larger ones are no faster


def matrix_rate(
    precision: PrecisionName, device: torch.device, size: int = SIZE, seconds: float = 1.0, most: int = 20
) -> float:
    """Floating-point operations a second of a product of two square matrices: the best of those that fit the time."""
    left, right = torch.ones(2, size, size, dtype=TYPES[precision], device=device)
    end, fastest = time.perf_counter() + seconds, float("inf")
    for _ in range(most):
        start = time.perf_counter()
        torch.mm(left, right)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        now = time.perf_counter()
        fastest = min(fastest, now - start)
        if now > end:
            break
    return 2 * size**3 / fastest
