"""Positions that are added to the embeddings: sinusoids (section 3.5 of the paper), a learned table, or none.

`maximum_length` is the number of positions that each has; None: any number. Positions that act inside attention are in
`distances.py`.
"""

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.nn.masks import Segments
from openwork.nn.shapes import Vectors

LONGEST_WAVE = 10000.0  # the base of the paper's geometric progression of wavelengths


def exact_sinusoids(positions: int, width: int, base: float = LONGEST_WAVE) -> Float[Tensor, "position width"]:
    """PE(pos, 2i) = sin(pos / base^(2i / width)), PE(pos, 2i + 1) = cos(pos / base^(2i / width)), in float64.

    In single precision position 5,000 would be off in the fourth decimal. An odd width ends with a sine.
    """
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angle = position * torch.exp(even * (-math.log(base) / width))
    table = torch.empty(positions, width, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : width // 2]
    return table


def sinusoids(positions: int, width: int, base: float = LONGEST_WAVE) -> Float[Tensor, "position width"]:
    """The same rounded to float32, as models add them; of a model without numbers, a table without numbers."""
    table = torch.empty(positions, width)
    return table if table.is_meta else exact_sinusoids(positions, width, base).float()


class SinusoidTable(nn.Module):
    """A table of sinusoids that grows when it is too short."""

    table: Tensor

    def __init__(self, width: int, size: int = 512, base: float = LONGEST_WAVE) -> None:
        super().__init__()
        self.width = width
        self.base = base
        self.register_buffer("table", self.made(size), persistent=False)

    def made(self, size: int) -> Float[Tensor, "position width"]:
        """The table for so many positions, in float32."""
        return sinusoids(size, self.width, self.base)

    def rows(self, first: int, last: int) -> Float[Tensor, "position width"]:
        """The positions from `first` to before `last`."""
        table = self.table
        if last > table.shape[0]:
            with torch.inference_mode(False):  # a table made while translating must serve training as well
                self.table = table = self.made(2 * last).to(table.device)
        return table[first:last]  # not the module's, which another thread may have replaced meanwhile


class Positions(nn.Module, ABC):
    """Adds the order of the tokens to their embeddings."""

    maximum_length: int | None = None

    @abstractmethod
    def at(self, x: Vectors, places: slice | Int[Tensor, "#batch position"], end: int) -> Vectors:
        """x plus the vectors of its tokens' positions, `places`; all of them are before `end`."""

    def forward(self, x: Vectors, first: int = 0) -> Vectors:
        """The same for consecutive tokens; `first` is the position of x's first token in its sentence."""
        end = first + x.shape[1]
        return self.at(x, slice(first, end), end)

    def along(self, x: Vectors, segments: Segments) -> Vectors:
        """The same for packed sentences: each begins at position 0. A learned table is known to be long enough."""
        return self.at(x, segments.places[None], self.maximum_length or segments.maximum_length)


class SinusoidalPositions(SinusoidTable, Positions):
    """Sinusoids, for sequences of any length."""

    def at(self, x: Vectors, places: slice | Int[Tensor, "#batch position"], end: int) -> Vectors:
        return x + self.rows(0, end)[places].to(x.dtype)


class SplitSinusoids(SinusoidalPositions):
    """Sinusoids with all sines first and all cosines after them, as in the code of the paper's authors (tensor2tensor).

    The slowest wave is exactly 10,000 times as long as the fastest. Marian and Whisper have them too.
    """

    def made(self, size: int) -> Float[Tensor, "position width"]:
        return split_sinusoids(size, self.width)


def split_sinusoids(positions: int, width: int) -> Float[Tensor, "position width"]:
    """sin(pos / 10000^(i / (width / 2 - 1))) for i < width / 2, then the cosines; an odd width ends in 0."""
    half = width // 2
    waves = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(LONGEST_WAVE) / max(half - 1, 1)))
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * waves
    table = torch.cat([angle.sin(), angle.cos()], dim=1).float()
    return nn.functional.pad(table, (0, width - 2 * half))


def is_split_sinusoids(table: Tensor) -> bool:
    """Whether a table (position, width) is that of `split_sinusoids`, rounded to 16 bits at most."""
    return torch.allclose(table.float().cpu(), split_sinusoids(*table.shape), atol=1e-3)


class LearnedPositions(Positions):
    """A learned vector for each position (Gehring et al. 2017; row E of the paper's table 3)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(size, width)
        self.maximum_length = size

    def at(self, x: Vectors, places: slice | Int[Tensor, "#batch position"], end: int) -> Vectors:
        """ConfigError for positions after the end of the table."""
        if isinstance(places, slice):
            return x + self.rows(places.start, places.stop).to(x.dtype)
        if end > self.table.num_embeddings:  # the rows of such positions may have been dropped
            self.rows(0, int(places.max()) + 1)
        return x + self.table(places).to(x.dtype)

    def rows(self, first: int, last: int) -> Float[Tensor, "position width"]:
        """The vectors of the positions from `first` to before `last`."""
        if last > self.table.num_embeddings:
            raise ConfigError(
                f"a sentence of {last} tokens does not fit into {self.table.num_embeddings} learned positions",
                why="learned positions end where their table ends; the end symbol counts as a token",
                hint=f"set model.maximum_length to {last} or more and train again, or leave out such sentences with "
                "filters.maximum_characters",
                code="C040",
            )
        return self.table.weight[first:last]


class NormalisedPositions(Positions):
    """Positions, and a norm of each sum before the first layer (Lewis et al. 2020, BART)."""

    def __init__(self, added: Positions, norm: nn.Module) -> None:
        super().__init__()
        self.added = added
        self.norm = norm
        self.maximum_length = added.maximum_length

    def at(self, x: Vectors, places: slice | Int[Tensor, "#batch position"], end: int) -> Vectors:
        return self.norm(self.added.at(x, places, end))

    def forward(self, x: Vectors, first: int = 0) -> Vectors:
        return self.norm(self.added(x, first))  # by calls of modules, which hooks see


class NoPositions(Positions):
    """Adds nothing: positions act inside attention (`distances.py`), or not at all."""

    def at(self, x: Vectors, places: slice | Int[Tensor, "#batch position"], end: int) -> Vectors:
        return x
