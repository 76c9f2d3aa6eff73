"""Positions that are added to the embeddings: sinusoids (section 3.5 of the paper), a learnt table, or none.

`maximum_length` is the number of positions that each has; None: any number. Positions that act inside attention are in
`distances.py`.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.nn.masks import Segments

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
    """The sinusoids of as many positions as were ever asked for: the table grows when it is too short."""

    table: Tensor

    def __init__(self, width: int, size: int = 512, base: float = LONGEST_WAVE) -> None:
        super().__init__()
        self.width = width
        self.base = base
        self.register_buffer("table", sinusoids(size, width, base), persistent=False)

    def rows(self, first: int, last: int) -> Float[Tensor, "position width"]:
        """The positions from `first` to before `last`."""
        table = self.table
        if last > table.shape[0]:
            with torch.inference_mode(False):  # a table made while translating must serve training as well
                self.table = table = sinusoids(2 * last, self.width, self.base).to(table.device)
        return table[first:last]  # not the module's, which another thread may have replaced meanwhile


class SinusoidalPositions(SinusoidTable):
    """Adds the position's sinusoids to a sequence of any length."""

    maximum_length: int | None = None

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        """`first` is the position of x's first token in its sentence."""
        return x + self.rows(first, first + x.shape[1]).to(x.dtype)

    def along(
        self, x: Float[Tensor, "batch position width"], segments: Segments
    ) -> Float[Tensor, "batch position width"]:
        """The same for sentences one after another in a row: each begins at position 0."""
        return self.at(x, segments.places[None], segments.maximum_length)

    def at(
        self, x: Float[Tensor, "batch position width"], places: Int[Tensor, "#batch position"], reach: int
    ) -> Float[Tensor, "batch position width"]:
        """The same for tokens that stand at `places` of their sentences, all before `reach`."""
        self.rows(0, reach)  # the table reaches as far
        return x + self.table[places].to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds a learnt vector for each position (Gehring et al. 2017; row E of the paper's table 3)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(size, width)
        self.maximum_length: int | None = size

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        """`first` is the position of x's first token in its sentence; ConfigError behind the end of the table."""
        return x + self.rows(first, first + x.shape[1]).to(x.dtype)

    def along(
        self, x: Float[Tensor, "batch position width"], segments: Segments
    ) -> Float[Tensor, "batch position width"]:
        """The same for sentences one after another in a row; that none reaches too far is known before a training."""
        return x + self.table(segments.places).to(x.dtype)

    def at(
        self, x: Float[Tensor, "batch position width"], places: Int[Tensor, "#batch position"], reach: int
    ) -> Float[Tensor, "batch position width"]:
        """The same for tokens that stand at `places` of their sentences; ConfigError behind the end of the table."""
        if reach > self.table.num_embeddings:  # rows that reached so far may have gone
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


class NormalisedPositions(nn.Module):
    """Adds positions, and brings each sum to the same size before the first layer sees it (Lewis et al. 2020, BART)."""

    def __init__(self, added: "SinusoidalPositions | LearnedPositions | NoPositions", norm: nn.Module) -> None:
        super().__init__()
        self.added = added
        self.norm = norm

    @property
    def maximum_length(self) -> int | None:
        return self.added.maximum_length

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        """`first` is the position of x's first token in its sentence."""
        return self.norm(self.added(x, first))

    def along(
        self, x: Float[Tensor, "batch position width"], segments: Segments
    ) -> Float[Tensor, "batch position width"]:
        """The same for sentences one after another in a row."""
        return self.norm(self.added.along(x, segments))

    def at(
        self, x: Float[Tensor, "batch position width"], places: Int[Tensor, "#batch position"], reach: int
    ) -> Float[Tensor, "batch position width"]:
        """The same for tokens that stand at `places` of their sentences."""
        return self.norm(self.added.at(x, places, reach))


class NoPositions(nn.Module):
    """Adds nothing: the order is known in another way, or not at all."""

    maximum_length: int | None = None

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        return x

    def along(
        self, x: Float[Tensor, "batch position width"], segments: Segments
    ) -> Float[Tensor, "batch position width"]:
        return x

    def at(
        self, x: Float[Tensor, "batch position width"], places: Int[Tensor, "#batch position"], reach: int
    ) -> Float[Tensor, "batch position width"]:
        return x


Positions = SinusoidalPositions | LearnedPositions | NormalisedPositions | NoPositions
