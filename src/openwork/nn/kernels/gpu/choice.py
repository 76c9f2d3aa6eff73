"""The best entries of the parts of each row of logits, from which the searches choose (`choice_kernels.py`)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.kernels import gpu
from openwork.nn.shapes import Logits

BLOCK = 1024  # entries of a part
MOST = 8192  # best entries of a sentence's rows from which a program chooses


@dataclass(frozen=True)
class BestParts:
    """Of each row and part: its best scores and their tokens, its shift and the sum of its exp(score - shift)."""

    values: Float[Tensor, "rows parts count"]
    tokens: Int[Tensor, "rows parts count"]
    shifts: Float[Tensor, "rows parts"]
    sums: Float[Tensor, "rows parts"]

    @property
    def all(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.values, self.tokens, self.shifts, self.sums


def is_suited(device: torch.device, vocabulary: int, beam: int, count: int) -> bool:
    """Whether the kernels may choose `count` entries of so many rows of a sentence."""
    return choices(vocabulary, beam, count) <= MOST and gpu.runs_triton(device)


def choices(vocabulary: int, beam: int, count: int) -> int:
    """Entries from which a program chooses."""
    return gpu.doubled(beam) * gpu.doubled(part_count(vocabulary) * count)


def part_count(vocabulary: int) -> int:
    return -(-vocabulary // BLOCK)


def best_parts(logits: Logits, added: Float[Tensor, "vocabulary"], count: int) -> BestParts:
    """The `count` best of each part; `added` is added to the logits, which are read in their own type."""
    from openwork.nn.kernels.gpu.choice_kernels import best_of_parts

    rows, vocabulary = logits.shape
    parts, device = part_count(vocabulary), logits.device
    values = torch.empty(rows, parts, count, device=device)
    shifts, sums = torch.empty(rows, parts, device=device), torch.empty(rows, parts, device=device)
    made = BestParts(values, torch.empty(values.shape, dtype=torch.int32, device=device), shifts, sums)
    best_of_parts[(rows, parts)](logits, added, *made.all, logits.stride(0), vocabulary, count, parts, BLOCK=BLOCK)
    return made
