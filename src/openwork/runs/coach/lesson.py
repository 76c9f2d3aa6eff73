"""What a check of the coach is: what it looks at, what its failing means, what to try and what to read."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from openwork.checks.check import Check, LargestDifference
from openwork.checks.context import Spot
from openwork.runs.coach.trial import Trial


@dataclass(frozen=True)
class Observation(LargestDifference):
    """What was measured, and what should have been; both in words with their figures."""

    measured: str = ""
    expected: str = ""


def seen(held: bool, measured: str, expected: str, spot: Spot | None = None) -> Observation:
    """A finding of something that holds or does not."""
    return Observation(0.0 if held else math.inf, 0.0, spot, measured=measured, expected=expected)


@dataclass(frozen=True)
class Lesson:
    """One line of the table. `meaning`, `attempt` and `read` are for whoever sees it fail.

    `after`: names of checks that must not have failed, because this one would only say their fault again.
    """

    name: str
    title: str
    meaning: str
    attempt: str
    read: str
    look: Callable[[Trial], Observation]
    after: tuple[str, ...] = ()

    def check(self, trial: Trial) -> Check:
        """The same as `openwork verify` carries it out."""
        return Check(self.name, self.title, lambda _: self.look(trial), self.after)
