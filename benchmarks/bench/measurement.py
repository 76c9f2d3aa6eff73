"""What a measurement is, and how several rounds of it become a median with its spread."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.processes import Answer

OURS = "openwork"


@dataclass(frozen=True)
class Measurement:
    """One process of one peer. `key` names it, part by part; `request` makes what round N asks (from 1).

    `result` reads figures from the answer. `limit` is in seconds.
    """

    key: str
    peer: str
    script: str
    threads: int
    request: Callable[[int], dict[str, Any]]
    result: Callable[[Answer], dict[str, Any]]
    limit: float = 600.0
    rounds: int = 0  # 0: as many as the options say


@dataclass(frozen=True)
class Middle:
    """The median of the rounds, with the lowest and the highest of them."""

    median: float
    low: float
    high: float
    rounds: int

    def to_json(self) -> dict[str, float]:
        return {"median": self.median, "low": self.low, "high": self.high, "rounds": self.rounds}


def middle(values: Iterable[float]) -> Middle | None:
    """None where there are no values."""
    known = list(values)
    if not known:
        return None
    return Middle(statistics.median(known), min(known), max(known), len(known))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def rate(lines: Sequence[dict[str, Any]], warm_up: int = 0) -> float:
    """Units a second over all lines after the first `warm_up`: long ones weigh as much as they last."""
    counted = lines[warm_up:]
    seconds = sum(line["seconds"] for line in counted)
    return sum(line["units"] for line in counted) / seconds if seconds else 0.0
