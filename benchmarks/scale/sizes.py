"""What a training of 10^6 to 10^10 sentence pairs needs on 8 to 1,024 devices. Calculated from formulas, not measured.

The page docs/scale.md shows these figures and says where each assumption comes from; `scale.page` writes it.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from openwork.base.config import read_run
from openwork.cost.communication import NODE, Network
from openwork.cost.cost import LENGTH, Machine
from openwork.cost.part import BYTES, MemoryCost
from openwork.cost.sharding import Sharding, device_memory
from openwork.runs.file.recipes import recipes_by_name
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.plan import Plan, make_plan

GROWTH = Path(__file__).resolve().parents[1] / "results" / "growth.json"
DEVICES = (8, 64, 1024)

RATE, MEMORY = 4e14, 80e9  # operations a second and bytes of an H100
FAST, SLOW = 365e9, 12e9  # bytes a second between devices: eight adapters of 400 Gb/s a node, and one of 100 Gb/s
STORAGE = 1.25e9  # bytes a second of the shared disk, of all nodes together: 10 Gb/s
PAGE = 4096  # bytes that a memory map reads at once
DEVICE_HOURS_A_FAILURE = 16_384 * 54 * 24 / 419
OPT_DEVICE_HOURS = 992 * 7.5  # of OPT-175B
TOLERABLE = 0.2  # of the hours of a run
LARGEST = 1_000_000  # tokens of an update, on each side
HOUR = 3600.0
DIVISIONS = tuple(2**n for n in range(13))  # what batches may be divided by to fit


@dataclass(frozen=True)
class Corpus:
    """A corpus, the model that is trained on it, tokens of an update on each side, and how often each pair comes."""

    power: int
    name: str
    recipe: str
    changes: tuple[str, ...]
    tokens: int
    epochs: int

    @property
    def pairs(self) -> int:
        return 10**self.power

    @property
    def store_bytes(self) -> int:
        """Of a store: ids of two bytes without end symbols, and an offset of eight bytes, on both sides."""
        return self.pairs * 2 * (2 * (LENGTH - 1) + 8)

    @property
    def updates(self) -> int:
        return math.ceil(self.epochs * self.pairs * LENGTH / self.tokens)

    @property
    def tokenising_hours(self) -> float:
        """Of one core, as measured on 10 million pairs."""
        return self.pairs * measured(from_text=True)["indexing_seconds"] / 1e7 / HOUR

    @property
    def planning_seconds(self) -> float:
        """Of an epoch, as measured on 10 million pairs."""
        return self.pairs * measured(from_text=False)["planning_seconds"] / 1e7

    @property
    def offsets_bytes(self) -> int:
        """Where sentences begin, on both sides: what planning an epoch reads, in random order."""
        return self.pairs * 2 * 8

    @property
    def lengths_bytes(self) -> int:
        """Memory of the lengths of all pairs, which the preflight has at once: one side's, and the other's twice."""
        return self.pairs * (4 + 8 + 4)

    def settings(self, divided_by: int = 1) -> RunSettings:
        """The run, with batches that are so many times smaller, and as many of them an update."""
        changes = [
            *self.changes, "training.precision=bfloat16", f"training.steps={self.updates}",
            f"batches.tokens={self.tokens // divided_by}", f"training.accumulate={divided_by}",
        ]  # fmt: skip
        return resolve_run(read_run(recipes_by_name()[self.recipe], changes, {}))


WIDE = ("width=2048", "feedforward_width=8192", "heads=16", "encoder_layers=24", "decoder_layers=24")
CORPORA = (
    Corpus(6, "paper-base", "paper-base-wmt14-en-de", (), tokens=25_000, epochs=20),
    Corpus(8, "paper-big", "paper-big-wmt14-en-de", (), tokens=400_000, epochs=5),
    Corpus(
        10,
        "24 + 24 layers, width 2,048",
        "paper-big-wmt14-en-de",
        tuple(f"model.{one}" for one in WIDE),
        tokens=1_000_000,
        epochs=1,
    ),
)


def measured(*, from_text: bool) -> dict[str, float]:
    """The measurement with ten million pairs."""
    (found,) = (
        point
        for point in json.loads(GROWTH.read_text("utf-8"))["corpus"]
        if point["pairs"] == 10**7 and point["from_text"] == from_text
    )
    return found


def candidates(corpus: Corpus, devices: int, bandwidth: float) -> Iterator[Plan]:
    """A plan for each way of sharding, with the largest batches that fit a device."""
    machine, network = Machine(RATE, devices), Network(bandwidth)
    for sharding in get_args(Sharding):
        for divided_by in DIVISIONS:
            plan = make_plan(corpus.settings(divided_by), machine, network, sharding)
            if plan.memory.total <= MEMORY:
                yield plan
                break


@cache
def fastest(corpus: Corpus, devices: int, bandwidth: float) -> Plan:
    """The fastest of the plans that fit."""
    return min(candidates(corpus, devices, bandwidth), key=lambda plan: plan.update.total)


def waiting_share(plan: Plan) -> float:
    """Of the time, waiting for messages that computing does not hide."""
    return plan.update.exposed / plan.update.total


def most_devices(corpus: Corpus, bandwidth: float) -> int:
    """The largest power of two of devices, up to 1,024, that wait a tolerable share of the time."""
    powers = (2**n for n in range(10, 0, -1))
    return next((n for n in powers if waiting_share(fastest(corpus, n, bandwidth)) <= TOLERABLE), 1)


@dataclass(frozen=True)
class Case:
    """A corpus on so many devices."""

    corpus: Corpus
    devices: int

    @property
    def plan(self) -> Plan:
        return fastest(self.corpus, self.devices, FAST)

    @property
    def slow_plan(self) -> Plan:
        """With one slow adapter a node."""
        return fastest(self.corpus, self.devices, SLOW)

    @property
    def hours(self) -> float:
        return self.plan.bill.seconds / HOUR

    @property
    def nodes(self) -> int:
        return -(-self.devices // NODE)

    @property
    def network_bytes(self) -> float:
        """Sent by all devices in the whole run."""
        return self.plan.sent * self.devices * self.corpus.updates

    @property
    def read_bytes(self) -> float:
        """Read from the shared disk: by each node a page for each sentence of its share, or the whole store once."""
        pages = 2 * PAGE * self.corpus.pairs * self.corpus.epochs / self.nodes
        return self.nodes * min(self.corpus.store_bytes, pages)

    @property
    def starting_hours(self) -> float:
        """The store's checksums, offsets for each node, and two plans of an epoch: the preflight's and the training's.

        Of one start.
        """
        read = self.corpus.store_bytes + self.nodes * self.corpus.offsets_bytes
        return (read / STORAGE + 2 * self.corpus.planning_seconds) / HOUR

    @property
    def checkpoint_bytes(self) -> int:
        """Weights, and the two moments of Adam."""
        return 3 * BYTES * self.plan.cost.weights

    @property
    def checkpoint_seconds(self) -> float:
        return self.checkpoint_bytes / STORAGE

    @property
    def hours_between_failures(self) -> float:
        return DEVICE_HOURS_A_FAILURE / self.devices

    @property
    def failures(self) -> float:
        """Expected in the run."""
        return self.hours / self.hours_between_failures

    @property
    def interval(self) -> float:
        """Hours between checkpoints that lose least (Young 1974)."""
        return math.sqrt(2 * self.checkpoint_seconds / HOUR * self.hours_between_failures)

    @property
    def validate_every(self) -> int:
        """Updates between them; at most those of the run."""
        return min(self.corpus.updates, max(1, round(self.interval * HOUR / self.plan.update.total)))

    @property
    def costs(self) -> dict[str, float]:
        """Hours that each of these adds to the run, or takes of it; the largest first."""
        update = self.plan.update
        found = {
            "tokenising": self.corpus.tokenising_hours,
            "batch": self.hours * update.computing / update.total * (1 - 1 / update.imbalance),
            "network": self.hours * waiting_share(self.plan),
            "disk": max(0.0, self.read_bytes / STORAGE / HOUR - self.hours),
            "start": self.starting_hours * (1 + self.failures),
            "failures": self.failures * min(self.interval, self.hours) / 2,
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def breaks(self) -> dict[str, float]:
        """Those that are not tolerable, as shares of the run."""
        return {name: hours / self.hours for name, hours in self.costs.items() if hours > TOLERABLE * self.hours}

    @property
    def tokens_answer(self) -> int | None:
        """Tokens of an update with which waiting is tolerable; None where they would be too many."""
        update = self.plan.update
        tokens = round(self.corpus.tokens * update.exposed / update.computing * (1 - TOLERABLE) / TOLERABLE, -3)
        return int(tokens) if tokens <= LARGEST else None

    @property
    def disk_answer(self) -> float:
        """Bytes a second of a disk that does not hold up the training."""
        return self.read_bytes / (self.hours * HOUR)


CASES = tuple(Case(corpus, devices) for corpus in CORPORA for devices in DEVICES)


def gathering(corpus: Corpus, devices: int) -> tuple[float, float]:
    """Seconds of an update that `full` spends on the steps of its rings, and on the bytes, on the fast network."""
    plan = make_plan(corpus.settings(), Machine(RATE, devices), Network(FAST), "full")
    bytes_alone = Network(FAST, latency=0.0)
    by_bytes = sum(one.seconds(bytes_alone, devices) for one in plan.traffic)
    return plan.update.communication - by_bytes, by_bytes


def most_weights(sharding: Sharding, devices: int) -> float:
    """Weights of the largest model whose weights, gradients and state fit a device: the bytes of one, by division."""
    one = 1_000_000
    memory = MemoryCost(
        weights=BYTES * one, copies=2 * one, gradients=BYTES * one, moments=2 * BYTES * one, activations=0, passing=0
    )
    return MEMORY / device_memory(memory, sharding, devices).total * one
