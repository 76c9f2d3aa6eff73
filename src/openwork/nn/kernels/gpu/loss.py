"""The cross-entropy of rows of logits on a GPU, and its gradient in their place, in one kernel."""

from math import gcd

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.kernels.gpu import doubled

BLOCK = 4096  # logits of a row that a program reads at once
WARPS = 16
ALIGNED = 8  # logits of two bytes that a thread reads at once, where rows begin at multiples of so many


def cross_entropy_(
    logits: Float[Tensor, "rows vocabulary"], right: Int[Tensor, "rows"], share: float
) -> Float[Tensor, "2"]:
    """Sums over the rows, in double precision, of the smoothed loss and of the likelihood.

    The logits are overwritten by the gradient of the smoothed loss. Rows whose right token is negative do not count.
    """
    from openwork.nn.kernels.gpu.loss_kernels import cross_entropy

    rows, vocabulary = logits.shape
    sums = torch.empty(rows, 2, dtype=torch.float32, device=logits.device)
    block = min(BLOCK, doubled(vocabulary, 128))
    each = gcd(ALIGNED, vocabulary, logits.stride(0))
    cross_entropy[(rows,)](
        logits, right, sums, share, vocabulary // each, logits.stride(0) // each, EACH=each, BLOCK=block,
        num_warps=WARPS,
    )  # fmt: skip
    return sums.sum(dim=0, dtype=torch.float64)
