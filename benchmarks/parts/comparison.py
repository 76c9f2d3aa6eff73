"""Ways to do the same thing: measured in turn, and held equal."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

ROUNDS, WARM_UP = 15, 2
Way = Callable[[], Any]  # gives what it has computed: tensors, numbers, or lists of them


@dataclass(frozen=True)
class Comparison:
    """Ways to compute the same; the first is the plain one, which the others are held to.

    `tolerance`: of the largest value, by how much another way may differ; None where it differs by intention, as with
    random numbers.
    """

    name: str
    what: str
    ways: dict[str, Way]
    tolerance: float | None = 1e-5

    def problems(self) -> list[str]:
        """The ways that come to something else than the plain one."""
        if self.tolerance is None:
            return []
        names = list(self.ways)
        plain = _numbers(self.ways[names[0]]())
        return [name for name in names[1:] if not _alike(plain, _numbers(self.ways[name]()), self.tolerance)]

    def measure(self, rounds: int = ROUNDS) -> dict[str, Any]:
        """Milliseconds of each way, in turn, so that a slow moment of the machine hits all of them."""
        times: dict[str, list[float]] = {name: [] for name in self.ways}
        for turn in range(rounds + WARM_UP):
            for name, way in self.ways.items():
                start = time.perf_counter()
                way()
                if turn >= WARM_UP:
                    times[name].append(1000 * (time.perf_counter() - start))
        return {"what": self.what, "milliseconds": {name: _spread(values) for name, values in times.items()}}


def _spread(values: Sequence[float]) -> dict[str, float]:
    """The median, and between which times the middle half lies."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": round(middle, 4), "lower_quartile": round(low, 4), "upper_quartile": round(high, 4)}


def _numbers(found: Any) -> list[torch.Tensor]:
    if isinstance(found, list | tuple):
        return [tensor for part in found for tensor in _numbers(part)]
    return [torch.as_tensor(found).detach().double()]


def _alike(plain: list[torch.Tensor], other: list[torch.Tensor], tolerance: float) -> bool:
    if [tensor.shape for tensor in plain] != [tensor.shape for tensor in other]:
        return False
    return all(
        bool((first - second).abs().max() <= tolerance * first.abs().max())
        for first, second in zip(plain, other, strict=True)
        if first.numel()
    )
