"""The attention of one step of a search by our own kernels (`step_attention_kernels.py` has the formulas)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.kernels import gpu

WIDTHS = (32, 64, 128)  # numbers of a head
BLOCK = 16  # keys that are read at once
SMALLEST = 16  # rows of a product of tiles


def is_suited(device: torch.device, dtype: torch.dtype, width: int) -> bool:
    """Whether the kernels may compute heads of so many numbers, the same for queries, keys and values.

    Not in float32, whose products they would round.
    """
    return width in WIDTHS and dtype in gpu.NARROW and gpu.runs_triton(device)


def _warps(width: int) -> int:
    return max(1, width // 64)


def attend_to_past(
    made: Float[Tensor, "rows three_heads_width"],
    keys: Float[Tensor, "sentence head beam capacity width"],
    values: Float[Tensor, "sentence head beam capacity width"],
    ancestors: Int[Tensor, "rows capacity"] | None,
    position: Int[Tensor, "*one"],
) -> Float[Tensor, "rows heads_width"]:
    """Stores the new keys and values at `position` and attends to all that the rows have read.

    `made`: queries, already multiplied by the scale of the scores, keys and values. `ancestors`: the places in the beam
    of the rows that have a row's earlier positions; None for a beam of one.
    """
    from openwork.nn.kernels.gpu.step_attention_kernels import step_to_past

    rows, (_, heads, beam, capacity, width) = made.shape[0], keys.shape
    output = torch.empty(rows, heads * width, dtype=made.dtype, device=made.device)
    step_to_past[(rows, heads)](
        made, keys, values, output, position if ancestors is None else ancestors, position, made.stride(0), heads, beam,
        capacity, ALONE=ancestors is None, WIDTH=width, BLOCK=BLOCK, num_warps=_warps(width),
    )  # fmt: skip
    return output


def attend_to_source(
    query: Float[Tensor, "rows heads_width"],
    keys: Float[Tensor, "sentence head source width"],
    values: Float[Tensor, "sentence head source width"],
    lengths: Int[Tensor, "sentence"],
) -> Float[Tensor, "rows heads_width"]:
    """The rows of each sentence attend to its first `lengths` keys, at least one; the queries are scaled already."""
    from openwork.nn.kernels.gpu.step_attention_kernels import beam_to_source, step_to_source

    sentences, heads, source, width = keys.shape
    beam = query.shape[0] // sentences
    output = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    given = query, keys, values, output, lengths, query.stride(0), heads, beam, source
    if beam == 1:
        step_to_source[(sentences, heads)](*given, WIDTH=width, BLOCK=BLOCK, num_warps=_warps(width))
    else:
        rows = gpu.doubled(beam, SMALLEST)
        beam_to_source[(sentences, heads)](*given, WIDTH=width, BLOCK=BLOCK, ROWS=rows, num_warps=_warps(width))
    return output
