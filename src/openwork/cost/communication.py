"""Time of communication between the processes of a training. No torch here.

A collective operation takes, for each message, a latency for each of its steps, and its bytes divided by the bandwidth
(Thakur, Rabenseifner and Gropp 2005, section 3). A ring of P processes passes on 2 (P - 1) / P of the bytes in an
all-reduce, which no algorithm undercuts (Patarasuk and Yuan 2009), and (P - 1) / P in an all-gather or reduce-scatter.

The bandwidth is what nccl-tests calls the bus bandwidth, "busbw" (NVIDIA/nccl-tests, doc/PERFORMANCE.md): the rate of
the slowest link of the ring, in one direction. So one number is enough for processes in one node and in many: inside a
node the rate of its links, between nodes the rate of all network adapters of a node together, whichever is lower.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast"]

BUCKET = 25 << 20
"""Bytes of a message where gradients are sent in buckets, as in torch's DDP (Li et al. 2020, section 3.2.3)."""

NODE = 8  # devices of a node with NVLink between them, such as a DGX
# Seconds of a step of a ring inside a node and between nodes, by NCCL's own estimate for large messages
# (NVIDIA/nccl, src/graph/tuning.cc: hwLat, ring, protocol Simple, NVLink and network).
INSIDE, BETWEEN = 3.4e-6, 14e-6


def step_latency(processes: int) -> float:
    """Mean seconds of a step of a ring over nodes of eight devices, of which one in eight leads to another node."""
    return INSIDE if processes <= NODE else ((NODE - 1) * INSIDE + BETWEEN) / NODE


@dataclass(frozen=True)
class Network:
    """What connects the processes of a training.

    Args:
        bandwidth: bytes a second, the bus bandwidth of nccl-tests.
        latency: seconds of a step; by itself `step_latency`.
        overlap: share of the communication, from 0 to 1, that goes on while the devices compute.
        trees: whether an all-reduce may use two binary trees, as NCCL does where that is faster; gloo has rings alone.
    """

    bandwidth: float
    latency: float | None = None
    overlap: float = 0.0
    trees: bool = True

    def step(self, processes: int) -> float:
        return step_latency(processes) if self.latency is None else self.latency


@dataclass(frozen=True)
class Traffic:
    """A collective operation in an update of the weights: bytes in all, and the messages that they are sent in.

    A broadcast is here one of shares: each process in turn sends its own share to all others.
    """

    collective: Collective
    size: float
    messages: int

    def sent(self, processes: int) -> float:
        """Bytes that each process sends, and receives as many, in a ring."""
        return self._way(processes)[1]

    def seconds(self, network: Network, processes: int) -> float:
        """Time from the first message to the last."""
        if processes < 2:
            return 0.0
        ways = [self._way(processes)]
        if network.trees and self.collective == "all-reduce":
            ways.append((2 * math.ceil(math.log2(processes)), 2 * self.size))
        return min(self.messages * steps * network.step(processes) + sent / network.bandwidth for steps, sent in ways)

    def _way(self, processes: int) -> tuple[int, float]:
        """Steps of a message in a ring, and bytes that all messages take over each link."""
        steps, size = processes - 1, self.size * (processes - 1) / processes
        return (2 * steps, 2 * size) if self.collective == "all-reduce" else (steps, size)


@dataclass(frozen=True)
class UpdateTime:
    """Seconds of an update of the weights.

    Args:
        computing: of the process with the most sentences.
        imbalance: its sentences divided by the mean.
        communication: of all messages.
        exposed: the part of it that computing does not hide.
    """

    computing: float
    imbalance: float = 1.0
    communication: float = 0.0
    exposed: float = 0.0

    @property
    def total(self) -> float:
        return self.computing + self.exposed


def update_time(
    computing: float, traffic: Sequence[Traffic], network: Network | None, processes: int, imbalance: float = 1.0
) -> UpdateTime:
    """The time of an update whose mean process computes for `computing` seconds; without a network, of that alone.

    The share of the communication that overlaps is hidden as long as there is something to compute.
    """
    slowest = computing * imbalance
    if network is None:
        return UpdateTime(slowest, imbalance)
    communication = sum(one.seconds(network, processes) for one in traffic)
    hidden = min(network.overlap * communication, slowest)
    return UpdateTime(slowest, imbalance, communication, communication - hidden)


def share_imbalance(sentences: int, processes: int) -> float:
    """Sentences of the fullest process divided by the mean, where so many sentences are dealt out in turn.

    With fewer sentences than processes, one sentence divided by a mean below one: the others have nothing to do.
    """
    return math.ceil(sentences / processes) * processes / sentences
