"""Sources that are numbers: embeddings of patches and of sounds, masks of sounds, positions of another grid.

Vision Transformer (Dosovitskiy et al. 2021): a picture is a sequence of patches, each the vector of its pixels. Whisper
(Radford et al. 2023, section 2.2): two convolutions make a vector of each two rows of a spectrogram.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from openwork.nn.convolution import without_padding
from openwork.nn.shapes import Lengths, Numbers, Vectors


class FeatureEmbedding(nn.Module):
    """x_i E + b for the numbers of each position, and a learned vector in front (Dosovitskiy et al. 2021, equation 1).

    The learned vector, their class token, takes the place that the start symbol's embedding has before a text.
    """

    pieces = 0  # of a vocabulary, which numbers do not have

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.projection = nn.Linear(features, width)
        self.start = nn.Parameter(torch.randn(width) * width**-0.5)

    def after_start(self, source: Numbers) -> Vectors:
        """The same as `forward`, by the name that embeddings of pieces have for it."""
        return self(source)

    def forward(self, source: Numbers) -> Vectors:
        """The learned vector, and then one for each position (batch, source + 1, width)."""
        x = self.projection(source)
        return torch.cat([self.start.to(x.dtype).expand(x.shape[0], 1, -1), x], dim=1)


class PatchStem(nn.Module):
    """x_i E + b for the numbers of each position: a stem of vectors alone, with no class token."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.projection = nn.Linear(features, width)

    def forward(self, source: Numbers, lengths: Lengths) -> Vectors:
        """A vector for each position."""
        return self.projection(source)

    @staticmethod
    def lengths(lengths: Lengths) -> Lengths:
        """Positions of sources of these lengths, after it: as many."""
        return lengths


class SpectrogramMasks(nn.Module):
    """Sets random spans of rows and of bands to 0 while training (SpecAugment, Park et al. 2019; without its warping).

    `share`: of the rows, and of the bands, that are hidden at most, in two spans each.
    """

    spans = 2

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, source: Numbers, lengths: Lengths) -> Numbers:
        if not self.training or not self.share:
            return source
        rows = self._hidden(lengths, source.shape[1])
        bands = self._hidden(torch.full_like(lengths, source.shape[2]), source.shape[2])
        return source.masked_fill(rows[:, :, None] | bands[:, None, :], 0.0)

    def _hidden(self, lengths: Lengths, size: int) -> Bool[Tensor, "batch place"]:
        """Which of `size` places are in a span, of those before each length."""
        random, ends = torch.rand(2, len(lengths), self.spans, 1, device=lengths.device), lengths[:, None, None]
        widths = (random[0] * ((self.share / self.spans * ends).floor() + 1)).floor()
        starts = (random[1] * (ends - widths + 1)).floor()
        places = torch.arange(size, device=lengths.device)
        return ((starts <= places) & (places < starts + widths)).any(dim=1)

    def extra_repr(self) -> str:
        return f"share={self.share}"


class ConvolutionStem(nn.Module):
    """GELU(Conv(GELU(Conv(x)))), each of width 3; the second one takes every other position (Radford et al. 2023, 2.2).

    Padding is zero before each, as is what lies outside of a sound.
    """

    def __init__(self, features: int, width: int, masked: float = 0.0) -> None:
        super().__init__()
        self.masks = SpectrogramMasks(masked)
        self.first = nn.Conv1d(features, width, kernel_size=3, padding=1)
        self.second = nn.Conv1d(width, width, kernel_size=3, stride=2, padding=1)

    def forward(self, source: Numbers, lengths: Lengths) -> Float[Tensor, "batch half width"]:
        """A vector for each two positions, the last of which may be outside."""
        x = self.masks(source, lengths)
        x = functional.gelu(self.first(without_padding(x, lengths).transpose(1, 2))).transpose(1, 2)
        return functional.gelu(self.second(without_padding(x, lengths).transpose(1, 2))).transpose(1, 2)

    @staticmethod
    def lengths(lengths: Lengths) -> Lengths:
        """Positions of sources of these lengths, after it."""
        return (lengths + 1) // 2


def positions_of_grid(
    table: Float[Tensor, "position width"], before: tuple[int, int], after: tuple[int, int]
) -> Float[Tensor, "after width"]:
    """Learned positions for patches of another grid (rows, columns): interpolated in the picture's two dimensions.

    The first position, the class token's, stays (Dosovitskiy et al. 2021, section 3.2).
    """
    first, patches = table[:1], table[1:]
    picture = patches.unflatten(0, before).permute(2, 0, 1)[None]
    resized = functional.interpolate(picture, size=after, mode="bicubic", align_corners=False)
    return torch.cat([first, resized[0].permute(1, 2, 0).flatten(0, 1)])
