"""What the compiled searches embed target tokens with."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from openwork.nn.positions import LearnedPositions, SinusoidalPositions


@dataclass(frozen=True)
class TargetEmbeddings:
    """Rows of `table` times `scale`, and the vectors of positions that are added; None: nothing is."""

    table: Float[Tensor, "vocabulary width"]
    scale: float
    positions: SinusoidalPositions | LearnedPositions | None

    def places(self, position: int, until: int) -> Float[Tensor, "position width"] | None:
        """The vectors of the positions to before `until`, or as far as there are any.

        ConfigError if there is none for `position`.
        """
        if self.positions is None:
            return None
        longest = min(until, self.positions.maximum_length or until)
        return self.positions.rows(0, max(longest, position + 1)).contiguous()
