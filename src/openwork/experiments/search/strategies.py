"""Searches that go through single values: the grid, and the documents' order of experience. No Optuna here.

Both are functions of what was tried so far, so that a search that was killed goes on as it would have.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from openwork.experiments.search.spaces import Dimension, Value, grid_values, guided_order, product

Params = dict[str, Value]


@dataclass(frozen=True)
class Tried:
    """A trial of a search; without a figure where it is not over, failed, or was ended early."""

    params: Mapping[str, Value]
    figure: float | None = None
    is_over: bool = True


class Strategy(ABC):
    """Chooses the next settings of a search."""

    @abstractmethod
    def propose(self, tried: Sequence[Tried]) -> Params | None:
        """The next settings; None where there are no more, or where they depend on trials that are not over."""

    @abstractmethod
    def is_exhausted(self, tried: Sequence[Tried]) -> bool:
        """Whether there will be no more."""


class Grid(Strategy):
    """All combinations, in the order of `itertools.product`."""

    def __init__(self, space: Mapping[str, Dimension]) -> None:
        self.points = product(space)

    def propose(self, tried: Sequence[Tried]) -> Params | None:
        return None if self.is_exhausted(tried) else self.points[len(tried)]

    def is_exhausted(self, tried: Sequence[Tried]) -> bool:
        return len(tried) >= len(self.points)


class Guided(Strategy):
    """One setting after another, each with all its values while the others keep the best so far.

    Transformer 模型全景分析报告, section 7.3.2 (3): width and heads first, then dropout and label smoothing, then
    warm-up and batch. It begins at `start`, as far as those are values of the space, and at the first values otherwise.
    """

    def __init__(self, space: Mapping[str, Dimension], start: Mapping[str, Value]) -> None:
        self.values = {key: grid_values(space[key]) for key in guided_order(space)}
        self.start = {key: start[key] if start.get(key) in values else values[0] for key, values in self.values.items()}

    def propose(self, tried: Sequence[Tried]) -> Params | None:
        return next(self._waves(tried), [None])[0]

    def is_exhausted(self, tried: Sequence[Tried]) -> bool:
        return next(self._waves(tried), None) is None

    def _waves(self, tried: Sequence[Tried]) -> Iterator[list[Params] | list[None]]:
        """The settings that can be tried now; [None] where trials are not over; nothing at the end."""
        known = {_key(one.params): one for one in tried}
        best = self.start
        if _key(best) not in known:
            yield [best]
        for key, values in self.values.items():
            candidates = [best, *({**best, key: value} for value in values if value != best[key])]
            missing = [one for one in candidates if _key(one) not in known]
            if missing:
                yield list(missing)
            if not all(known[_key(one)].is_over for one in candidates if _key(one) in known):
                yield [None]
            best = max(candidates, key=lambda one: _figure(known.get(_key(one))))


def _key(params: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(params.items()))


def _figure(tried: Tried | None) -> float:
    return -math.inf if tried is None or tried.figure is None else tried.figure
