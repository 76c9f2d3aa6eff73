"""Dropout, with cheap random masks on a CPU."""

import torch
from torch import Tensor, nn
from torch.nn import functional


def _keep_bytes(count: int, threshold: int) -> Tensor:
    """`count` booleans, each True with probability 1 - threshold / 256.

    One call of the generator gives 64 random bits, enough for eight elements: drawing Bernoulli variables one by
    one takes a fifth of a training step on a CPU.
    """
    words = torch.empty((count + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    return words.view(torch.uint8)[:count] >= threshold


class Dropout(nn.Module):
    """Sets each element to zero with probability `rate` while training and scales the rest by 1 / (1 - rate).

    On a CPU the rate is rounded to a multiple of 1/256 (0.1 becomes 26/256 = 0.1016); the scale uses the
    rounded rate, so the expectation is exact (in bfloat16 up to the rounding of the scale, 0.4 % at most).
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        threshold = round(self.rate * 256)
        if x.device.type != "cpu" or threshold in (0, 256):
            return functional.dropout(x, self.rate)
        keep = _keep_bytes(x.numel(), threshold).view(x.shape)
        return x * keep.to(x.dtype).mul_(256 / (256 - threshold))

    def extra_repr(self) -> str:
        return f"rate={self.rate}"
