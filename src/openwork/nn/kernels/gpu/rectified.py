"""The gradient before max(0, .) as an operation of the framework (`rectified_kernels.py`)."""

import torch
from torch import Tensor

from openwork.nn.kernels.gpu import doubled

ROWS, COLUMNS = 8, 256  # of a tile
PROGRAMS = 64  # that share the rows
WARPS = 4


@torch.library.custom_op("openwork::rectified_backward", mutates_args=())
def rectified_backward(gradient: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient where max(0, .) made a positive number, else 0, and its sums over the rows in float32.

    `gradient` and `made`: (rows, width).
    """
    from openwork.nn.kernels.gpu.rectified_kernels import backward

    gradient = gradient if gradient.stride(1) == 1 else gradient.contiguous()
    rows, width = made.shape
    found = torch.empty_like(made)
    columns = min(COLUMNS, doubled(width, 16))
    programs = max(1, min(PROGRAMS, -(-rows // ROWS)))
    sums = torch.empty(programs, width, dtype=torch.float32, device=made.device)
    backward[(-(-width // columns), programs)](
        gradient, made, found, sums, rows, gradient.stride(0), WIDTH=width, ROWS=ROWS, COLUMNS=columns, num_warps=WARPS
    )
    return found, sums.sum(dim=0)


@rectified_backward.register_fake
def _(_gradient: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
    return made.new_empty(made.shape), made.new_empty(made.shape[1], dtype=torch.float32)
