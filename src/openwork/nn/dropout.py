"""Dropout, with cheap random masks on a CPU."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

_thread = threading.local()


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within it, this thread's dropout on a CPU draws from `generator` instead of the process's own.

    Threads that compute at the same time would draw from that one in no certain order, and no run could be repeated.
    """
    before = getattr(_thread, "generator", None)
    _thread.generator = generator
    try:
        yield
    finally:
        _thread.generator = before


def drawn_key() -> int:
    """64 random bits, from which a kernel on a CPU makes a mask."""
    return int(_words(1)) % 2**64


def _words(count: int) -> Tensor:
    """So many times 64 random bits."""
    words = torch.empty(count, dtype=torch.int64)
    return words.random_(-(2**63), None, generator=getattr(_thread, "generator", None))


def _keep_bytes(count: int, threshold: int) -> Tensor:
    """`count` bytes, each 1 with probability 1 - threshold / 256 and else 0.

    One call of the generator gives 64 random bits, enough for eight elements: drawing Bernoulli variables one by
    one takes a fifth of a training step on a CPU.
    """
    return _words((count + 7) // 8).view(torch.uint8)[:count].ge_(threshold)


def dropout(x: Tensor, rate: float) -> Tensor:
    """`x` with each element set to zero with probability `rate`, and the rest scaled by 1 / (1 - rate).

    On a CPU the rate is rounded to a multiple of 1/256 (0.1 becomes 26/256 = 0.1016); the scale uses the
    rounded rate, so the expectation is exact (in bfloat16 up to the rounding of the scale, 0.4 % at most).
    """
    threshold = round(rate * 256)
    if x.device.type != "cpu" or threshold in (0, 256) or torch.compiler.is_compiling():
        return functional.dropout(x, rate)  # compiled, it is part of a loop that is made anyway
    keep = _keep_bytes(x.numel(), threshold).view(x.shape)
    return x * keep.to(x.dtype).mul_(256 / (256 - threshold))


class Dropout(nn.Module):
    """`dropout` while training, nothing else."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return x if not self.training or self.rate == 0.0 else dropout(x, self.rate)
