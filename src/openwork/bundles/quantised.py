"""Weights in fewer bits, as a file keeps them. A model that is read from it computes with what they stand for.

    w ~ scale * q        q a whole number: -127 to 127 in 8 bits, -7 to 7 in 4

In 8 bits each row of a matrix has a scale, in 4 bits each block of 32 numbers of a row has one (Dettmers and
Zettlemoyer 2023). bfloat16 is float32 without its last 16 bits. Vectors (biases, gains of norms) are few and stay as
they are, and so does what is no matrix of real numbers.

The tensors of a matrix NAME are NAME.int8, or NAME.int4 with two numbers a byte, the earlier one in the low half and 8
added to each; and NAME.scale.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.errors import BundleError

StoredType = Literal["bfloat16", "int8", "int4"]
GROUP = 32  # numbers with one scale, in 4 bits
EIGHT, FOUR = 127, 7  # the largest whole numbers
LARGEST = FOUR * torch.finfo(torch.float16).max  # weight whose scale is a number of 16 bits
MIDDLE = 8  # added to those of 4 bits
PART = 2048  # groups that a CPU rounds at once, so that intermediate values stay in its cache
SHRINKS = tuple(1 - 0.02 * step for step in range(21))  # of a group's scale: the one with the least squared error


def stored(weights: Mapping[str, Tensor], kind: StoredType) -> dict[str, Tensor]:
    """The tensors of a file that keeps these weights in a type."""
    found: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() < 2 or not weight.is_floating_point():
            found[name] = weight
        elif kind == "bfloat16":
            found[name] = weight.bfloat16()
        elif kind == "int4" and weight.shape[-1] % GROUP == 0 and float(weight.abs().max()) <= LARGEST:
            found[f"{name}.int4"], found[f"{name}.scale"] = _four_bits(weight.float())
        else:
            found[f"{name}.int8"], found[f"{name}.scale"] = _eight_bits(weight.float())
    return found


def rounded(weight: Tensor, kind: StoredType) -> Tensor:
    """Rounds a weight to the values that a file of this type stores. The shape is the same; a vector is unchanged."""
    return restored(stored({"weight": weight}, kind), "a weight")["weight"]


def restored(tensors: Mapping[str, Tensor], origin: str) -> dict[str, Tensor]:
    """The weights that the tensors of a file stand for; tensors of other types are themselves.

    BundleError for numbers without scales, and for scales that do not fit.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        matrix, _, kind = name.rpartition(".")
        if kind in ("int8", "int4"):
            scale = tensors.get(f"{matrix}.scale")
            is_eight = kind == "int8"
            if scale is None or not _fits(tensor, scale, is_eight):
                raise BundleError(
                    f"{origin}: the scales of {matrix} are missing or of another form",
                    why="a matrix of whole numbers is nothing without them",
                    hint="copy the whole folder again",
                    code="B081",
                )
            found[matrix] = tensor.float() * scale if is_eight else _of_four_bits(tensor, scale)
        elif not (kind == "scale" and (f"{matrix}.int8" in tensors or f"{matrix}.int4" in tensors)):
            found[name] = tensor
    return found


def _eight_bits(weight: Float[Tensor, "rows *rest"]) -> tuple[Tensor, Tensor]:
    """Whole numbers of the weight's shape, and a scale for each row (row, 1, ...)."""
    largest = weight.abs().amax(dim=tuple(range(1, weight.dim())), keepdim=True)
    scale = torch.where(largest > 0, largest / EIGHT, 1.0)
    return (weight / scale).round().to(torch.int8), scale


def _four_bits(weight: Float[Tensor, "*rows columns"]) -> tuple[Tensor, Tensor]:
    """Bytes of two numbers each (..., columns / 2), and scales (..., columns / 32)."""
    groups = weight.reshape(-1, GROUP)
    scale = torch.cat(
        [_best_scale(part) for part in groups.split(PART if weight.device.type == "cpu" else len(groups))]
    )
    numbers = (_rounded(groups, scale) + MIDDLE).to(torch.uint8).view(weight.shape)
    even, odd = numbers.unflatten(-1, (-1, 2)).unbind(dim=-1)
    return even | (odd << 4), scale.view(*weight.shape[:-1], -1).half()


def _best_scale(groups: Float[Tensor, "groups 32"]) -> Float[Tensor, "groups 1"]:
    """The scale of each group with the least squared error, among the shrunk ones; numbers of 16 bits."""
    largest = groups.abs().amax(dim=-1, keepdim=True)
    scale = torch.where(largest > 0, largest / FOUR, 1.0)
    best, error = scale, torch.full_like(scale, torch.inf)
    for shrink in SHRINKS:
        tried = (shrink * scale).half().float().clamp_min(torch.finfo(torch.float16).tiny)
        wrong = _rounded(groups, tried).mul_(tried).sub_(groups).square_().sum(dim=-1, keepdim=True)
        best, error = torch.where(wrong < error, tried, best), torch.minimum(wrong, error)
    return best


def _rounded(groups: Float[Tensor, "groups 32"], scale: Float[Tensor, "groups 1"]) -> Float[Tensor, "groups 32"]:
    return (groups / scale).round_().clamp_(-FOUR, FOUR)


def _of_four_bits(tensor: Tensor, scale: Tensor) -> Tensor:
    numbers = torch.stack([tensor & 15, tensor >> 4], dim=-1).flatten(-2).float() - MIDDLE
    return (numbers.unflatten(-1, (-1, GROUP)) * scale.float()[..., None]).flatten(-2)


def _fits(tensor: Tensor, scale: Tensor, is_eight: bool) -> bool:
    if not scale.is_floating_point() or tensor.dim() < 2 or not bool(scale.isfinite().all()):
        return False
    if is_eight:
        return tensor.dtype == torch.int8 and scale.shape == (len(tensor), *[1] * (tensor.dim() - 1))
    *rows, columns = tensor.shape
    return tensor.dtype == torch.uint8 and 2 * columns % GROUP == 0 and scale.shape == (*rows, 2 * columns // GROUP)
