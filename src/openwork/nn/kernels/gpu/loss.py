"""The cross-entropy of rows of logits on a GPU, and its gradient in their place, in one kernel."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.kernels.gpu import doubled

BLOCK = 4096  # logits of a row that a program reads at once
WARPS = 8


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
    cross_entropy[(rows,)](logits, right, sums, share, vocabulary, logits.stride(0), BLOCK=block, num_warps=WARPS)
    return sums.sum(dim=0, dtype=torch.float64)
