"""The cross-entropy of rows of logits on a CPU, and its gradient in their place, by loss.cpp."""

import ctypes
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.machine.native.building import library
from openwork.nn.kernels.native import FUNCTIONS, TYPES

FEWEST = 1 << 16  # logits that are worth a thread of their own


def cross_entropy_(
    logits: Float[Tensor, "rows vocabulary"], right: Int[Tensor, "rows"], share: float
) -> Float[Tensor, "2"]:
    """Sums over the rows, in double precision, of the smoothed loss and of the likelihood.

    The logits, whose rows are each in one piece, are overwritten by the gradient of the smoothed loss.
    """
    rows, vocabulary = logits.shape
    assert logits.stride(1) == 1 and right.dtype is torch.int64
    right, sums = right.contiguous(), torch.empty(rows, 2)
    if rows and not 0 <= int(right.min()) <= int(right.max()) < vocabulary:
        raise IndexError(f"a right token is outside a vocabulary of {vocabulary}")
    threads = max(1, min(torch.get_num_threads(), logits.numel() // FEWEST))
    _function(logits.dtype)(
        logits.data_ptr(), right.data_ptr(), rows, vocabulary, logits.stride(0), share, sums.data_ptr(), threads
    )
    return sums.sum(dim=0, dtype=torch.float64)


@cache
def _function(dtype: torch.dtype) -> Any:
    function = getattr(library(FUNCTIONS), f"openwork_loss_{TYPES[dtype]}")
    address, whole = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [address, address, whole, whole, whole, ctypes.c_float, address, whole]
    function.restype = None
    return function
