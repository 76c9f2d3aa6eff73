"""Values of a series as pieces: scaled by their context and put into bins (Ansari et al. 2024, Chronos, section 3.1).

a window   [10, 14, 12 | 18]      its context: the values before the line
scaled     [0.83, 1.17, 1 | 1.5]  by mean scaling: 12 is the mean of the context's absolute values
bins       of width 0.5           0.83 and 1.17 are in the bin around 1, whose value is 1 x 12 = 12
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from openwork.signals.settings import SeriesSettings


class Scale(NamedTuple):
    """A scaled value is (value - shift) / size."""

    shift: float
    size: float


class Bins:
    """The bins of a [series]: `centres` in order, and their `names`, which are the pieces of a vocabulary."""

    def __init__(self, settings: SeriesSettings) -> None:
        self.scaling, self.limit, last = settings.scaling, settings.limit, settings.bins - 1
        self.width = 2 * self.limit / last
        self.centres = [self.limit * (2 * number - last) / last for number in range(settings.bins)]
        self.names = [f"{centre:.8g}" for centre in self.centres]

    def scale(self, context: Sequence[float]) -> Scale:
        """That of a window with this context of one value or more; a context without any size is not divided."""
        mean = math.fsum(context) / len(context) if self.scaling == "standard" else 0.0
        if self.scaling == "standard":
            size = math.sqrt(math.fsum((value - mean) ** 2 for value in context) / len(context))
        else:
            size = math.fsum(map(abs, context)) / len(context)
        return Scale(mean, size or 1.0)

    def numbers(self, values: Sequence[float], scale: Scale) -> list[int]:
        """The number of each value's bin, from 0: the one with the nearest centre."""
        scaled = (min(max((value - scale.shift) / scale.size, -self.limit), self.limit) for value in values)
        return [round((one + self.limit) / self.width) for one in scaled]

    def values(self, numbers: Sequence[int], scale: Scale) -> list[float]:
        """The centre of each bin as a value of the series."""
        return [self.centres[number] * scale.size + scale.shift for number in numbers]

    def text(self, values: Sequence[float], scale: Scale) -> str:
        """The names of the values' bins with spaces between: a text of the language model."""
        return " ".join(self.names[number] for number in self.numbers(values, scale))
