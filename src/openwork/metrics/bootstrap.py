"""How far a score would move with other examples of the same kind: intervals by the bootstrap.

Efron (1979); percentiles of the score on as many examples drawn with replacement.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

RESAMPLES, SEED = 1000, 12345
LOW, HIGH = 2.5, 97.5  # percentiles: 95 % lie between


def interval(
    statistic: Callable[[NDArray[np.intp]], float], count: int, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float]:
    """The 95 % interval of a score of `count` examples; `statistic` gives it for examples by their numbers.

    Draws for which there is no score (NaN) are left out. The same for the same seed.
    """
    random = np.random.default_rng(seed)
    drawn = np.array([statistic(random.integers(0, count, count)) for _ in range(resamples)])
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return float("nan"), float("nan")
    low, high = np.percentile(known, [LOW, HIGH])
    return float(low), float(high)
