"""Replays the batches of a training for any number of processes, without computing them.

As in a training, each process takes its share of a batch, the sentences dealt out in turn, and computes it in as many
parts as it has workers. The slowest process decides; then all wait for the sum of the gradients.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openwork.cost.communication import Network, Traffic, update_time
from openwork.data.batching import BatchPlan

Rows = NDArray[np.int64]


class PartShape(NamedTuple):
    """Sentences that are computed together, and the longest source and target among them, end symbols counted."""

    sentences: int
    source: int
    target: int


Update = tuple[PartShape, ...]
"""What one process computes in an update."""

Seconds = Callable[[Update], float]


def dealt_out(rows: Rows, shares: int) -> list[Rows]:
    """The rows dealt out in turn to at most `shares` parts, as `TrainingBatch.parts` deals out sentences."""
    shares = min(shares, len(rows))
    return [rows[first::shares] for first in range(shares)]


def batches_of(plan: BatchPlan) -> Iterator[Rows]:
    """The endless sequence of batches of a training."""
    for epoch in count():
        yield from plan.epoch(epoch)


def updates_of(plan: BatchPlan, processes: int, workers: int = 1, accumulate: int = 1) -> Iterator[tuple[Update, ...]]:
    """For each update what each process computes; nothing where a batch has fewer sentences than processes."""

    def shape(rows: Rows) -> PartShape:
        source, target = (int(side[rows].max()) + 1 for side in (plan.source_lengths, plan.target_lengths))
        return PartShape(len(rows), source, target)

    batches = batches_of(plan)
    while True:
        shares = [batch[rank::processes] for batch in islice(batches, accumulate) for rank in range(processes)]
        yield tuple(
            tuple(shape(part) for share in shares[rank::processes] for part in dealt_out(share, workers))
            for rank in range(processes)
        )


@dataclass(frozen=True)
class Simulation:
    """Updates of a training on so many processes.

    Args:
        computing: seconds of the slowest process, for each update.
        mean_computing: of the mean process.
        waiting: seconds of the communication that computing does not hide, for each update.
    """

    processes: int
    computing: tuple[float, ...]
    mean_computing: tuple[float, ...]
    waiting: tuple[float, ...]

    @property
    def updates_per_second(self) -> float:
        return len(self.computing) / (sum(self.computing) + sum(self.waiting))

    @property
    def imbalance(self) -> float:
        """Computing of the slowest processes divided by that of the mean ones."""
        return sum(self.computing) / sum(self.mean_computing)


def simulate(
    updates: Sequence[tuple[Update, ...]], seconds: Seconds, traffic: Sequence[Traffic], network: Network | None
) -> Simulation:
    """The time of these updates, by the seconds that a process computes, and the messages between the processes."""
    processes, slowest, means, waiting = len(updates[0]), [], [], []
    for shares in updates:
        computing = [seconds(share) for share in shares]
        mean = sum(computing) / processes
        time = update_time(mean, traffic, network if processes > 1 else None, processes, max(computing) / mean)
        slowest.append(time.computing)
        means.append(mean)
        waiting.append(time.exposed)
    return Simulation(processes, tuple(slowest), tuple(means), tuple(waiting))
