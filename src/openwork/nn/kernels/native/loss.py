"""The cross-entropy of rows of logits on a CPU, and its gradient in their place, by loss.cpp."""

from ctypes import c_float, c_int64, c_void_p

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.kernels import native

ARGUMENTS = (c_void_p, c_void_p, c_int64, c_int64, c_int64, c_float, c_void_p, c_int64)
TWO = (
    c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_int64, c_float, c_float, c_void_p, c_int64,
)  # fmt: skip


def cross_entropy_(
    logits: Float[Tensor, "rows vocabulary"], right: Int[Tensor, "rows"], share: float
) -> Float[Tensor, "2"]:
    """Sums over the rows, in double precision, of the smoothed loss and of the likelihood.

    The logits, whose rows are each in one piece, are overwritten by the gradient of the smoothed loss.
    """
    rows, vocabulary = logits.shape
    right, sums = _checked(logits, right), torch.empty(rows, 2)
    native.function("loss", logits.dtype, *ARGUMENTS)(
        logits.data_ptr(), right.data_ptr(), rows, vocabulary, logits.stride(0), share, sums.data_ptr(),
        native.threads_for(logits),
    )  # fmt: skip
    return sums.sum(dim=0, dtype=torch.float64)


def divergent_cross_entropy_(
    first: Float[Tensor, "rows vocabulary"],
    second: Float[Tensor, "rows vocabulary"],
    right: Int[Tensor, "rows"],
    share: float,
    alpha: float,
) -> Float[Tensor, "2"]:
    """The same for the logits of two passes, with R-Drop: the price `alpha` of their divergence is in the loss."""
    rows, vocabulary = first.shape
    assert second.shape == first.shape and second.dtype == first.dtype and second.stride(1) == 1
    right, sums = _checked(first, right), torch.empty(rows, 2)
    native.function("loss_of_two", first.dtype, *TWO)(
        first.data_ptr(), second.data_ptr(), right.data_ptr(), rows, vocabulary, first.stride(0), second.stride(0),
        share, alpha, sums.data_ptr(), native.threads_for(first),
    )  # fmt: skip
    return sums.sum(dim=0, dtype=torch.float64)


def _checked(logits: Tensor, right: Tensor) -> Tensor:
    vocabulary = logits.shape[1]
    assert logits.stride(1) == 1 and right.dtype is torch.int64
    if right.numel() and not 0 <= int(right.min()) <= int(right.max()) < vocabulary:
        raise IndexError(f"a right token is outside a vocabulary of {vocabulary}")
    return right.contiguous()
