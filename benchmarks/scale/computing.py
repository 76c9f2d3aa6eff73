"""The seconds that one process computes, as a function of its parts' shapes, found from measured updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scale.replay import Update


@dataclass(frozen=True)
class ComputingTime:
    """Seconds of an update: a constant, and rates for each kind of work in `WORK`; `slowdown` multiplies all of it."""

    rates: tuple[float, ...]
    slowdown: float = 1.0
    WORK: ClassVar[tuple[str, ...]] = (
        "a constant of the update", "source positions", "target positions", "pairs of positions in attention",
    )  # fmt: skip

    def __call__(self, update: Update) -> float:
        return self.slowdown * float(np.dot(self.rates, work_of(update)))


def work_of(update: Update) -> tuple[float, ...]:
    """The amounts of `ComputingTime.WORK`, padding included."""
    source = sum(part.sentences * part.source for part in update)
    target = sum(part.sentences * part.target for part in update)
    pairs = sum(part.sentences * (part.source**2 + part.source * part.target + part.target**2) for part in update)
    return 1.0, float(source), float(target), float(pairs)


def fit(updates: Sequence[Update], seconds: Sequence[float]) -> ComputingTime:
    """The rates that fit best, none of them negative: least squares of relative errors.

    What would have a negative rate is left out, and the rest is fitted again.
    """
    amounts = np.array([work_of(update) for update in updates]) / np.array(seconds)[:, None]
    scale = np.maximum(amounts.max(axis=0), 1e-300)
    kept = list(range(amounts.shape[1]))
    while True:
        found, *_ = np.linalg.lstsq(amounts[:, kept] / scale[kept], np.ones(len(amounts)), rcond=None)
        if (found >= 0).all() or len(kept) == 1:
            break
        del kept[int(found.argmin())]
    rates = np.zeros(amounts.shape[1])
    rates[kept] = np.maximum(found, 0) / scale[kept]
    return ComputingTime(tuple(rates.tolist()))
