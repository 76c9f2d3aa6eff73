"""Normalisation: the paper's layer norm, the root mean square alone, and batch norm (Ioffe and Szegedy 2015).

The first two need one vector. Batch norm takes the mean and variance of a feature over a batch's positions, where
padding must not count. Models, which know what is padding, say so around their layers:

    with real_positions(tokens != pad):
        x = encoder(x, mask)
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from openwork.machine.processes import ALONE, Processes
from openwork.nn.dropout import drawn_key
from openwork.nn.kernels import gpu, native
from openwork.nn.kernels.native.norm import STEPS, DroppedSum, NormOfSum
from openwork.nn.shapes import Vectors

Norm = Callable[[int], nn.Module]  # from a width to the module

EPSILON = 1e-6  # keeps the division finite; the source documents' value


def layer_norm(width: int, epsilon: float = EPSILON) -> nn.LayerNorm:
    """(x - mean) / sqrt(variance + epsilon) * gain + shift (Ba, Kiros and Hinton 2016)."""
    return nn.LayerNorm(width, eps=epsilon)


def takes_sum(
    norm: nn.Module,
    x: Float[Tensor, "*rows width"],
    added: Float[Tensor, "*rows width"] | None = None,
    dropout: float = 0.0,
) -> bool:
    """Whether `norm_of_sum` has a kernel for these: on a GPU in 16 bits, on a CPU where one is compiled."""
    if not isinstance(norm, nn.LayerNorm) or norm.bias is None or round(dropout * STEPS) == STEPS:
        return False  # with all dropped, nothing could be scaled
    if added is not None and not (added.dtype is x.dtype and added.shape == x.shape):
        return False
    width = x.shape[-1]
    if x.is_cuda:
        return gpu.is_available(x.device, "norm", width) and x.dtype in gpu.NARROW and width <= gpu.WIDEST_NORM
    given, learnt = [x] if added is None else [x, added], [norm.weight, norm.bias]
    is_exact = norm.weight.dtype is torch.float32
    return is_exact and width % native.MULTIPLE == 0 and native.takes(*given) and native.takes(*learnt)


def norm_of_sum(
    norm: nn.Module,
    x: Float[Tensor, "*rows width"],
    added: Float[Tensor, "*rows width"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*rows width"]:
    """norm(x + Dropout(added)) in one pass over memory, for what `takes_sum`; the statistics are in float32.

    On a CPU the rate is rounded as that of `dropout`.
    """
    assert isinstance(norm, nn.LayerNorm)
    rows, more = x.flatten(0, -2), None if added is None else added.flatten(0, -2)
    if x.is_cuda:
        from openwork.nn.kernels.gpu import norm as kernel  # loads the compiler's front end, which takes a second

        seed = kernel.drawn_seed(x.device) if dropout > 0.0 else None
        return kernel.norm_of_sum(rows, more, norm.weight, norm.bias, norm.eps, dropout, seed)[0].view(x.shape)
    threshold = round(dropout * STEPS)
    key = drawn_key() if threshold else 0
    return NormOfSum.apply(rows, more, norm.weight, norm.bias, norm.eps, threshold, key).view(x.shape)  # type: ignore[no-any-return]


def takes_dropped_sum(x: Float[Tensor, "*rows width"], added: Float[Tensor, "*rows width"], rate: float) -> bool:
    """Whether `dropped_sum` has a kernel for these: on a CPU where one is compiled."""
    drops = 0 < round(rate * STEPS) < STEPS
    return drops and x.shape == added.shape and x.shape[-1] % native.MULTIPLE == 0 and native.takes(x, added)


def dropped_sum(
    x: Float[Tensor, "*rows width"], added: Float[Tensor, "*rows width"], rate: float
) -> Float[Tensor, "*rows width"]:
    """x + Dropout(added) in one pass over memory; the rate is rounded as that of `dropout`."""
    rows, more = x.flatten(0, -2), added.flatten(0, -2)
    return DroppedSum.apply(rows, more, round(rate * STEPS), drawn_key()).view(x.shape)  # type: ignore[no-any-return]


class RMSNorm(nn.Module):
    """x / sqrt(mean of squares + epsilon) * gain (Zhang and Sennrich 2019)."""

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        # The gain in the type of x: the framework warns of two types, and takes a slower way.
        return functional.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.epsilon)


MOMENTUM = 0.1  # share of a batch in the running statistics; torch's

_thread = threading.local()


@contextmanager
def real_positions(real: Bool[Tensor, "batch position"]) -> Iterator[None]:
    """Within it, the batch norms that this thread trains count the positions that are `real`, and no other."""
    before = getattr(_thread, "real", None)
    _thread.real = real
    try:
        yield
    finally:
        _thread.real = before


@contextmanager
def nothing_counts() -> Iterator[None]:
    """Within it, no position is real for the batch norms that this thread trains."""
    _thread.nothing = True
    try:
        yield
    finally:
        _thread.nothing = False


@contextmanager
def over_all(processes: Processes) -> Iterator[None]:
    """Within it, the batch norms that this thread trains have the statistics of the positions of all processes."""
    _thread.processes = processes
    try:
        yield
    finally:
        _thread.processes = ALONE


def statistics_over(
    x: Vectors, real: Bool[Tensor, "batch position"], processes: Processes = ALONE
) -> tuple[Tensor, Tensor, Tensor]:
    """mean = sum of x / n, variance = sum of (x - mean)^2 / n over the n real positions (their algorithm 1), and n."""
    padding = ~real[..., None]
    count = processes.summed(real.sum())
    n = count.clamp(min=1)
    mean = processes.summed(x.masked_fill(padding, 0.0).sum(dim=(0, 1))) / n
    variance = processes.summed((x - mean).masked_fill(padding, 0.0).square().sum(dim=(0, 1))) / n
    return mean, variance, count


class BatchNorm(nn.Module):
    """(x - mean) / sqrt(variance + epsilon) * gain + shift, with mean and variance of each feature over a batch.

    Training, they are those of the batch's real positions, and the running ones follow; afterwards they are the running
    ones, so that a sentence gives the same in any batch. A norm whose weights are frozen keeps its statistics too.
    """

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_variance", torch.ones(width))
        self.epsilon = epsilon

    @property
    def learns(self) -> bool:
        """Whether it takes statistics of what it is given."""
        return self.training and self.weight.requires_grad

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        """RuntimeError in training outside `real_positions`."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean, variance = self._of_batch(wide) if self.learns else (self.running_mean, self.running_variance)
        return ((wide - mean) / torch.sqrt(variance + self.epsilon) * self.weight + self.bias).to(x.dtype)

    def _of_batch(self, x: Vectors) -> tuple[Tensor, Tensor]:
        real = getattr(_thread, "real", None)
        if real is None or real.shape != x.shape[:-1]:
            raise RuntimeError("a batch norm is trained within real_positions, which say what is no padding")
        real = torch.zeros_like(real) if getattr(_thread, "nothing", False) else real
        mean, variance, count = statistics_over(x, real, getattr(_thread, "processes", ALONE))
        self._remember(mean, variance, count)
        return mean, variance

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """running <- running + momentum (batch - running), the variance divided by n - 1 (their algorithm 2).

        One position alone says nothing of a variance, and nothing of it is remembered.
        """
        share = MOMENTUM * (count > 1).to(mean)  # of its type: 0.1 of float32 is not that of float64
        self.running_mean += share * (mean - self.running_mean)
        self.running_variance += share * (variance * count / (count - 1).clamp(min=1) - self.running_variance)


def running_statistics(model: nn.Module) -> dict[str, Tensor]:
    """Name -> tensor (not a copy), of all batch norms of the model."""
    norms = [(place, module) for place, module in model.named_modules() if isinstance(module, BatchNorm)]
    return {f"{place}.{name}": buffer for place, norm in norms for name, buffer in norm.named_buffers()}


def has_batch_norms(model: nn.Module) -> bool:
    """Whether what the model learns from a sentence depends on the others of its batch."""
    return any(isinstance(module, BatchNorm) for module in model.modules())
