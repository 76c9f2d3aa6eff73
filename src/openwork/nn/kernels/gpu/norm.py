"""Layer normalisation of a vector, or of the sum of two, as operations of the framework (`norm_kernels.py`)."""

from typing import Any

import torch
from torch import Tensor

from openwork.nn.kernels.gpu import doubled

NUMBERS = 2048  # that a program computes at once
WARPS = 4
PROGRAMS = 4  # a processor, of those that add up the gradients by gain and shift


def _sizes(width: int) -> dict[str, int]:
    padded = doubled(width, 16)
    return {"ROWS": max(1, NUMBERS // padded), "WIDTH": width, "PADDED": padded, "num_warps": WARPS}


@torch.library.custom_op("openwork::norm_of_sum", mutates_args=())
def norm_of_sum(
    x: Tensor, added: Tensor | None, gain: Tensor, shift: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """LayerNorm(x + added) in the type of x, and each row's mean and 1 / sqrt(variance + epsilon) in float32.

    x and `added` (None: nothing): (rows, width); gain and shift: (width), float32.
    """
    from openwork.nn.kernels.gpu.norm_kernels import forward

    rows, width = x.shape
    x, added = x.contiguous(), None if added is None else added.contiguous()
    output = torch.empty_like(x)
    means, scales = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
    sizes = _sizes(width)
    forward[(-(-rows // sizes["ROWS"]),)](
        x, x if added is None else added, gain, shift, output, means, scales, rows, epsilon,
        IS_SUM=added is not None, **sizes,
    )  # fmt: skip
    return output, means, scales


@norm_of_sum.register_fake
def _(x: Tensor, *_others: Any) -> tuple[Tensor, Tensor, Tensor]:
    rows, _ = x.shape
    return x.new_empty(x.shape), *(x.new_empty(rows, dtype=torch.float32) for _ in range(2))  # type: ignore[return-value]


@torch.library.custom_op("openwork::norm_of_sum_backward", mutates_args=())
def norm_of_sum_backward(
    gradient: Tensor, x: Tensor, added: Tensor | None, gain: Tensor, means: Tensor, scales: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients by the sum, gain and shift, for that by the output."""
    from openwork.nn.kernels.gpu.norm_kernels import backward

    rows, width = x.shape
    gradient, x, added = gradient.contiguous(), x.contiguous(), None if added is None else added.contiguous()
    by_sum = torch.empty_like(x)
    sizes = _sizes(width)
    programs = max(1, min(-(-rows // sizes["ROWS"]), PROGRAMS * _processors(x.device)))
    sums = torch.empty(2, programs, width, dtype=torch.float32, device=x.device)
    backward[(programs,)](
        gradient, x, x if added is None else added, gain, means, scales, by_sum, sums[0], sums[1], rows,
        IS_SUM=added is not None, **sizes,
    )  # fmt: skip
    return by_sum, sums[0].sum(dim=0), sums[1].sum(dim=0)


@norm_of_sum_backward.register_fake
def _(gradient: Tensor, x: Tensor, added: Tensor | None, gain: Tensor, *_others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape), gain.new_empty(gain.shape), gain.new_empty(gain.shape)


def _processors(device: torch.device) -> int:
    """Streaming multiprocessors."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    x, added, gain, _, _ = inputs
    ctx.save_for_backward(x, added, gain, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _gradients(ctx: Any, gradient: Tensor, *_others: Any) -> tuple[Tensor | None, ...]:
    by_sum, by_gain, by_shift = norm_of_sum_backward(gradient, *ctx.saved_tensors)
    return by_sum, None if ctx.saved_tensors[1] is None else by_sum, by_gain, by_shift, None


norm_of_sum.register_autograd(_gradients, setup_context=_remember)
