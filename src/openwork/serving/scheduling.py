"""Which texts are translated together: those that wait longest, in batches of like requests, within a bound.

A text is one job, so that texts of several requests make a batch, and a request of many texts does not hold up others.
No clock and no processes here: the caller says what time it is.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

BATCH_TOKENS = 2048  # source tokens of a batch: above it batches gain little, and other requests wait longer
DEADLINE = 0.005  # seconds that a job waits for others to join it


class Full(Exception):
    """There are so many tokens in the queue that more must not wait; `seconds` until there may be room."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"try again in {seconds} seconds")
        self.seconds = seconds


@dataclass(eq=False)
class Job:
    """A text to translate.

    `group`: jobs of one group may be one batch. `work`: what the worker gets beside the text. `is_alone`: it is never
    with others. `answered`: what takes the answer, or a part of it.
    """

    group: Hashable
    text: str
    tokens: int
    arrived: float
    work: dict[str, Any]
    answered: Any
    is_alone: bool = False
    is_retried: bool = False
    number: int = field(default_factory=count().__next__)


class JobQueue:
    """Jobs in the order in which they came, of at most `most_tokens` tokens together.

    A job of more tokens is taken where nothing else waits. `rate`: tokens that were answered in a second, which says
    how long a queue takes.
    """

    def __init__(self, most_tokens: int) -> None:
        self.most_tokens = most_tokens
        self.tokens = 0
        self.rate = 0.0
        self._jobs: OrderedDict[int, Job] = OrderedDict()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, jobs: list[Job]) -> None:
        """All of these jobs, or none: `Full` where they are too many."""
        added = sum(job.tokens for job in jobs)
        self.check(added)
        for job in jobs:
            self._jobs[job.number] = job
        self.tokens += added

    def check(self, tokens: int) -> None:
        """`Full` where so many more tokens must not wait."""
        if self._jobs and self.tokens + tokens > self.most_tokens:
            raise Full(max(1, round(self.tokens / self.rate) if self.rate else 1))

    def put_back(self, jobs: list[Job]) -> None:
        """Jobs whose worker has ended, as the next ones."""
        for job in reversed(jobs):
            self._jobs[job.number] = job
            self._jobs.move_to_end(job.number, last=False)
            self.tokens += job.tokens

    def remove(self, job: Job) -> bool:
        """Whether the job still waited."""
        found = self._jobs.pop(job.number, None)
        self.tokens -= found.tokens if found else 0
        return found is not None

    def take(self, now: float, free: int = 1) -> tuple[list[Job], float]:
        """The next batch and 0; or none, and the seconds after which there may be one (infinity: when a job comes).

        `free`: workers that have nothing to do, who share what waits.
        """
        if not self._jobs:
            return [], float("inf")
        first = next(iter(self._jobs.values()))
        batch, tokens, most = [first], first.tokens, min(BATCH_TOKENS, -(-self.tokens // free))
        if not first.is_alone:
            for job in self._jobs.values():
                if tokens >= most:
                    break
                joins = job is not first and job.group == first.group and not job.is_alone
                if joins and tokens + job.tokens <= BATCH_TOKENS:
                    batch.append(job)
                    tokens += job.tokens
            waits = first.arrived + DEADLINE - now
            if self.tokens < BATCH_TOKENS and waits > 0 and not first.is_retried:
                return [], waits
        for job in batch:
            self.remove(job)
        return batch, 0.0

    def was_answered(self, tokens: int, seconds: float) -> None:
        """Notes how fast a batch was, as a moving average."""
        now = tokens / max(seconds, 1e-6)
        self.rate = now if not self.rate else 0.8 * self.rate + 0.2 * now
