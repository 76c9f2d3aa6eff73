"""Pairs whose sides do not go together in length, by what is usual in this corpus."""

import math
from collections.abc import Sequence

import numpy as np

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.records import Pair

LENGTHS = FaultKind("lengths that do not go together")
FAR = 6.0  # robust standard deviations
SMOOTHING = 5  # characters that both sides are thought to have besides, so that short texts may differ more
_NORMAL = 1.4826  # the median distance from the median, times this, is a normal distribution's standard deviation


def length_faults(pairs: Sequence[Pair]) -> list[Fault]:
    """Those whose ratio of lengths is far from the median one, on a logarithmic scale."""
    if not pairs:
        return []
    ratios = np.array([math.log((len(s) + SMOOTHING) / (len(t) + SMOOTHING)) for s, t in pairs])
    middle = float(np.median(ratios))
    spread = max(_NORMAL * float(np.median(np.abs(ratios - middle))), 0.05)
    far = np.nonzero(np.abs(ratios - middle) > FAR * spread)[0].tolist()
    return [Fault(LENGTHS, place + 1, f"{pairs[place].source} ||| {pairs[place].target}") for place in far]
