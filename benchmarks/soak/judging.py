"""Whether what a process held stayed as it was: the end of a sitting beside its beginning, once it was warm.

A sitting is the life of one process. Its first fifth is warm-up: libraries load, buffers and caches take the sizes of
the longest sentences. The tenth after that is the beginning, the last tenth the end. Of memory the medians are
compared, since it breathes with the lengths of what is worked on; of threads and files the least, since validations
and checkpoints take some and give them back, and what leaks is never given back.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import linear_regression, median
from typing import Any

ALLOWANCE = 0.02  # of memory
LEAST = 20  # samples that a judgement needs: two at each end
WARM_UP, WINDOW = 0.2, 0.1


@dataclass(frozen=True)
class Moment:
    """A sample, the seconds since its sitting began, and how much of the work was done."""

    sitting: int
    seconds: float
    held: int
    resident: int
    threads: int
    files: int
    processes: int
    done: float


@dataclass(frozen=True)
class Judgement:
    """Of one sitting: beginning and end; memory in bytes, `per_hour` what a straight line through it gains an hour.

    `floor`: the least memory in the first half of the time after warm-up and in the second one, which is what a
    process holds between two batches. It is told and not judged.
    """

    seconds: float
    samples: int
    memory: tuple[float, float]
    floor: tuple[int, int]
    resident: tuple[float, float]
    peak: int
    per_hour: float
    threads: tuple[int, int]
    files: tuple[int, int]
    done: float

    @property
    def growth(self) -> float:
        """Of memory, as a share."""
        return self.memory[1] / self.memory[0] - 1

    def is_flat(self, allowance: float = ALLOWANCE) -> bool:
        """Memory within the allowance, not a thread and not a file more."""
        gained = self.threads[1] > self.threads[0] or self.files[1] > self.files[0]
        return self.growth <= allowance and not gained

    def to_json(self) -> dict[str, Any]:
        """With what follows from the figures."""
        return {**asdict(self), "growth": self.growth, "flat": self.is_flat()}


def judge(moments: Sequence[Moment]) -> Judgement | None:
    """The judgement of one sitting; None where it was too short for one."""
    if len(moments) < LEAST:
        return None
    warm = moments[int(WARM_UP * len(moments)) :]
    size = max(int(WINDOW * len(moments)), 2)
    ends = warm[:size], warm[-size:]
    line = linear_regression([moment.seconds for moment in warm], [float(moment.held) for moment in warm])
    return Judgement(
        seconds=moments[-1].seconds,
        samples=len(moments),
        memory=_both(ends, lambda part: median(moment.held for moment in part)),
        floor=(_least(warm[: len(warm) // 2]), _least(warm[len(warm) // 2 :])),
        resident=_both(ends, lambda part: median(moment.resident for moment in part)),
        peak=max(moment.held for moment in moments),
        per_hour=line.slope * 3600,
        threads=_both(ends, lambda part: min(moment.threads for moment in part)),
        files=_both(ends, lambda part: min(moment.files for moment in part)),
        done=moments[-1].done,
    )


def _both(ends: tuple[Sequence[Moment], Sequence[Moment]], figure: Any) -> tuple[Any, Any]:
    return figure(ends[0]), figure(ends[1])


def _least(part: Sequence[Moment]) -> int:
    return min(moment.held for moment in part)


def sittings(moments: Sequence[Moment]) -> list[list[Moment]]:
    """The moments of each process, in order."""
    found: dict[int, list[Moment]] = {}
    for moment in moments:
        found.setdefault(moment.sitting, []).append(moment)
    return list(found.values())
