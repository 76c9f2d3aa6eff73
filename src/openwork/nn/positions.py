"""Sinusoidal positions (section 3.5 of the paper)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

LONGEST_WAVE = 10000.0  # the base of the paper's geometric progression of wavelengths


def sinusoids(positions: int, width: int, base: float = LONGEST_WAVE) -> Float[Tensor, "position width"]:
    """PE(pos, 2i) = sin(pos / base^(2i / width)), PE(pos, 2i + 1) = cos(pos / base^(2i / width)).

    Computed in double precision: in single precision position 5,000 would be off in the fourth decimal.
    An odd width ends with a sine.
    """
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angle = position * torch.exp(even * (-math.log(base) / width))
    table = torch.empty(positions, width, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : width // 2]
    return table.float()


class SinusoidalPositions(nn.Module):
    """Adds the position's sinusoids to a sequence. Any length works: the table grows when it is too short."""

    table: Tensor

    def __init__(self, width: int, size: int = 512) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("table", sinusoids(size, width), persistent=False)

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        """`first` is the position of x's first token in its sentence."""
        last = first + x.shape[1]
        if last > self.table.shape[0]:
            with torch.inference_mode(False):  # a table made while translating must serve training as well
                self.table = sinusoids(2 * last, self.width).to(self.table.device)
        return x + self.table[first:last].to(x.dtype)
