"""Pairs whose sides do not go together in length, by what is usual in this corpus."""

import math
from collections.abc import Iterator

import numpy as np

from openwork.data.check.faults import Fault, FaultKind
from openwork.data.check.reading import Pairs, at

LENGTHS = FaultKind("lengths that do not go together")
FAR = 6.0  # robust standard deviations
SMOOTHING = 5  # characters that both sides are thought to have besides, so that short texts may differ more
_NORMAL = 1.4826  # the median distance from the median, times this, is a normal distribution's standard deviation


def length_faults(pairs: Pairs) -> Iterator[Fault]:
    """Those whose ratio of lengths is far from the median one, on a logarithmic scale."""
    ratios = np.fromiter((math.log((len(s) + SMOOTHING) / (len(t) + SMOOTHING)) for s, t in pairs), np.float64)
    if not len(ratios):
        return
    middle = float(np.median(ratios))
    spread = max(_NORMAL * float(np.median(np.abs(ratios - middle))), 0.05)
    far = np.nonzero(np.abs(ratios - middle) > FAR * spread)[0].tolist()
    yield from (Fault(LENGTHS, line, f"{pair.source} ||| {pair.target}") for line, pair in at(pairs, far))
