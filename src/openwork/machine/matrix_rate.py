"""How fast this machine multiplies matrices: what no training step can surpass."""

import time

import torch

from openwork.machine.precision import TYPES, PrecisionName

SIZES = {"cpu": (256, 512, 1024, 2048), "cuda": (1024, 2048, 4096, 8192)}  # rows and columns: larger are no faster
MOST = 20  # products of each size


def matrix_rate(precision: PrecisionName, device: torch.device, seconds: float = 1.0) -> float:
    """Floating-point operations a second of a product of two square matrices: the best of those that fit the time.

    Small products come first. A larger one is tried only if it fits into the time that is left, by the best rate so
    far: on a processor without instructions for a number type the largest would take a minute.
    """
    end, best = time.perf_counter() + seconds, 0.0
    for size in SIZES[device.type]:
        operations, matrices = 2 * size**3, None
        for _ in range(MOST):
            if best and time.perf_counter() + operations / best > end:
                break
            matrices = (
                torch.ones(2, size, size, dtype=TYPES[precision], device=device) if matrices is None else matrices
            )
            best = max(best, operations / _seconds(matrices[0], matrices[1], device))
    return best


def _seconds(left: torch.Tensor, right: torch.Tensor, device: torch.device) -> float:
    """What one product takes."""
    start = time.perf_counter()
    torch.mm(left, right)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
