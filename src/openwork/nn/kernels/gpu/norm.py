"""Layer normalisation of x, or of x + Dropout(y), as operations of the framework (`norm_kernels.py`)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from openwork.nn.kernels.gpu import doubled

NUMBERS = 2048  # that a program computes at once
WARPS = 4
STEPS = 65536  # of which a rate of dropout is a multiple
PROGRAMS = 4  # a processor, of those that add up the gradients by gain and shift


def _sizes(width: int) -> dict[str, int]:
    padded = doubled(width, 16)
    return {"ROWS": max(1, NUMBERS // padded), "WIDTH": width, "PADDED": padded, "num_warps": WARPS}


def drawn_seed(device: torch.device) -> Tensor:
    """From the framework's generator of the device, so that a training that goes on goes on with the same masks."""
    return torch.randint(2**63 - 1, (1,), device=device)


@torch.library.custom_op("openwork::norm_of_sum", mutates_args=())
def norm_of_sum(
    x: Tensor, added: Tensor | None, gain: Tensor, shift: Tensor, epsilon: float, rate: float, seed: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """LayerNorm(x + Dropout(added)) in the type of x, and each row's mean and 1 / sqrt(variance + epsilon) in float32.

    x and `added` (None: nothing): (rows, width); gain and shift: (width), float32. Without a seed nothing is dropped;
    the rate is rounded to a multiple of 1/65536.
    """
    from openwork.nn.kernels.gpu.norm_kernels import forward

    rows, width = x.shape
    x, added = x.contiguous(), None if added is None else added.contiguous()
    output = torch.empty_like(x)
    means, scales = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
    sizes = _sizes(width)
    forward[(-(-rows // sizes["ROWS"]),)](
        x, x if added is None else added, gain, shift, output, means, scales, means if seed is None else seed, rows,
        epsilon, _threshold(rate), IS_SUM=added is not None, DROPS=seed is not None, **sizes,
    )  # fmt: skip
    return output, means, scales


def _threshold(rate: float) -> int:
    return min(STEPS - 1, round(rate * STEPS))


@norm_of_sum.register_fake
def _(x: Tensor, *_others: Any) -> tuple[Tensor, Tensor, Tensor]:
    rows, _ = x.shape
    return x.new_empty(x.shape), *(x.new_empty(rows, dtype=torch.float32) for _ in range(2))  # type: ignore[return-value]


@torch.library.custom_op("openwork::norm_of_sum_backward", mutates_args=())
def norm_of_sum_backward(
    gradient: Tensor,
    x: Tensor,
    added: Tensor | None,
    gain: Tensor,
    statistics: Sequence[Tensor],
    rate: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients by the sum, by `added` (without a seed nothing: the same), and by gain and shift (2, width)."""
    from openwork.nn.kernels.gpu.norm_kernels import backward

    rows, width = x.shape
    gradient, x, added = gradient.contiguous(), x.contiguous(), None if added is None else added.contiguous()
    by_sum = torch.empty_like(x)
    by_added = x.new_empty(0) if seed is None else torch.empty_like(x)
    sizes = _sizes(width)
    programs = max(1, min(-(-rows // sizes["ROWS"]), PROGRAMS * _processors(x.device)))
    sums = torch.empty(2, programs, width, dtype=torch.float32, device=x.device)
    backward[(programs,)](
        gradient, x, x if added is None else added, gain, *statistics, statistics[0] if seed is None else seed, by_sum,
        by_added, sums[0], sums[1], rows, _threshold(rate), IS_SUM=added is not None, DROPS=seed is not None, **sizes,
    )  # fmt: skip
    return by_sum, by_added, sums.sum(dim=1)


@norm_of_sum_backward.register_fake
def _(gradient: Tensor, x: Tensor, added: Tensor | None, gain: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    by_added = x.new_empty(0) if others[-1] is None else x.new_empty(x.shape)
    return x.new_empty(x.shape), by_added, gain.new_empty(2, *gain.shape)


def _processors(device: torch.device) -> int:
    """Streaming multiprocessors."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    x, added, gain, _, _, ctx.rate, seed = inputs
    ctx.save_for_backward(x, added, gain, seed, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _gradients(ctx: Any, gradient: Tensor, *_others: Any) -> tuple[Tensor | None, ...]:
    x, added, gain, seed, *statistics = ctx.saved_tensors
    by_sum, by_added, (by_gain, by_shift) = norm_of_sum_backward(gradient, x, added, gain, statistics, ctx.rate, seed)
    if seed is None:
        by_added = None if added is None else by_sum
    return by_sum, by_added, by_gain, by_shift, None, None, None


norm_of_sum.register_autograd(_gradients, setup_context=_remember)
