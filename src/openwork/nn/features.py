"""Sources that are numbers: a linear map of each position, a class token in front, positions of another grid.

Vision Transformer (Dosovitskiy et al. 2021): a picture is a sequence of patches, each the vector of its pixels.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.shapes import Numbers, Vectors


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


def positions_of_grid(
    table: Float[Tensor, "position width"], before: tuple[int, int], after: tuple[int, int]
) -> Float[Tensor, "after width"]:
    """Learned positions for patches of another grid (rows, columns): interpolated in the picture's two dimensions.

    The first position, the class token's, stays (Dosovitskiy et al. 2021, section 3.2).
    """
    first, patches = table[:1], table[1:]
    picture = patches.unflatten(0, before).permute(2, 0, 1)[None]
    resized = nn.functional.interpolate(picture, size=after, mode="bicubic", align_corners=False)
    return torch.cat([first, resized[0].permute(1, 2, 0).flatten(0, 1)])
