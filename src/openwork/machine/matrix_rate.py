"""Rate of matrix products on this machine, the upper bound for any training step."""

import time

import torch

from openwork.machine.precision import TYPES, PrecisionName, product_seconds

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
