"""Matrices with many zeros, as a file keeps them: a bit for each number, and the numbers that are not zero.

The tensors of a matrix NAME are NAME.mask, the bits of eight numbers of a row in a byte, the first one highest; and
NAME.kept, the numbers in the order of the rows. A matrix is kept so where that is smaller.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from openwork.base.errors import BundleError

BITS = 8
SPARSEST = 32  # numbers for each that is not zero, at most: what is read takes little more memory than the file


def packed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a file that keeps these, each in its smaller form."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if _is_smaller(tensor):
            is_kept = tensor != 0
            bits = np.packbits(is_kept.cpu().numpy(), axis=-1)
            found |= {f"{name}.mask": torch.from_numpy(bits), f"{name}.kept": tensor[is_kept]}
        else:
            found[name] = tensor
    return found


def _is_smaller(tensor: Tensor) -> bool:
    if tensor.dim() < 2 or tensor.shape[-1] % BITS:
        return False
    size, kept = tensor.element_size(), int(tensor.count_nonzero())
    return kept * SPARSEST >= tensor.numel() and kept * size + tensor.numel() // BITS < tensor.numel() * size


def unpacked(tensors: Mapping[str, Tensor], origin: str) -> dict[str, Tensor]:
    """The inverse of `packed`; tensors of other names are themselves.

    BundleError for bits without numbers, and for another count of these.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        matrix, _, kind = name.rpartition(".")
        if kind == "mask":
            found[matrix] = _spread(tensor, tensors.get(f"{matrix}.kept"), f"{origin}: {matrix}")
        elif not (kind == "kept" and f"{matrix}.mask" in tensors):
            found[name] = tensor
    return found


def _spread(mask: Tensor, kept: Tensor | None, name: str) -> Tensor:
    if kept is not None and kept.dim() == 1 and mask.dtype == torch.uint8 and mask.dim() >= 2:
        is_kept = torch.from_numpy(np.unpackbits(mask.numpy(), axis=-1)).bool()
        if int(is_kept.sum()) == len(kept) and len(kept) * SPARSEST >= is_kept.numel():
            return torch.zeros(is_kept.shape, dtype=kept.dtype).masked_scatter(is_kept, kept)
    raise BundleError(
        f"{name} is damaged",
        why="its numbers are not as many as its bits say",
        hint="copy the whole folder again",
        code="B088",
    )
