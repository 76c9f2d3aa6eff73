"""The plan of a run, from its settings alone: weights, operations, memory, time and money. No torch here."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from openwork.base.messages import msg
from openwork.cost.communication import Network, Traffic, UpdateTime, share_imbalance, update_time
from openwork.cost.cost import FORMULA, LENGTH, Bill, Cost, Machine, cost_of
from openwork.cost.part import BYTES, MemoryCost
from openwork.cost.sharding import Sharding, device_memory, gathered_bytes, layer_counts, update_traffic
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.runs.file.settings import RunSettings

P100 = 9.5e12
"""Operations a second in single precision of the paper's P100s (section 6.1, footnote 5)."""

NARROW = 2  # bytes of a bfloat16
UNITS = ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB"), (1e18, "EB"))
# Numbers that an optimiser keeps for each weight, at most (muon one for matrices); adafactor's rows and columns are too
# few to count.
KEPT = {"adam": 2, "adamw": 2, "sgd": 1, "adagrad": 1, "adafactor": 0, "muon": 2}


@dataclass(frozen=True)
class Plan:
    """The most that a run with these settings takes: every batch full, every update made.

    Args:
        bill: of all devices together.
        memory: of one device.
        update: seconds of a full update.
        traffic: the messages between the devices in an update.
    """

    settings: RunSettings
    machine: Machine
    network: Network | None
    sharding: Sharding
    cost: Cost
    target_tokens: int
    bill: Bill
    memory: MemoryCost
    update: UpdateTime
    traffic: tuple[Traffic, ...]

    @property
    def sentences(self) -> int:
        """Of a full batch."""
        return sentences_of(self.settings)

    @property
    def sent(self) -> float:
        """Bytes that each device sends in an update."""
        return sum(one.sent(self.machine.devices) for one in self.traffic)


def capacity(machine: Machine, hours: float) -> float:
    """All the operations that the machine could make in that time: how the paper counts (section 6.1)."""
    return machine.flops_per_second * machine.devices * hours * 3600


def sentences_of(settings: RunSettings) -> int:
    """Sentences of a full batch, if all have the mean length."""
    return max(1, settings.batches.tokens // LENGTH)


def make_plan(
    settings: RunSettings, machine: Machine, network: Network | None = None, sharding: Sharding | None = None
) -> Plan:
    """Counts two passes an update where R-Drop wants them; validations are not counted.

    Without a network, the time of messages between devices is not counted. `sharding`: by itself the run's.
    """
    sharding = sharding or settings.training.sharding
    training, batch, devices = settings.training, settings.batches.tokens, machine.devices
    cost, passes = cost_of(settings.model, settings.text.vocabulary_size), 2 if training.r_drop else 1
    computing = cost.training(batch * training.accumulate * passes, machine)
    units = sum(layer_counts(settings.model).values()) + 1
    traffic = update_traffic(sharding, cost.weights, devices, units, training.accumulate)
    imbalance = share_imbalance(sentences_of(settings), devices)
    update = update_time(computing.seconds, traffic, network, devices, imbalance)
    seconds = update.total * training.steps
    bill = Bill(computing.flops * training.steps, seconds, seconds / 3600 * devices * machine.price_per_hour)
    memory = memory_of(settings, cost, batch / devices * imbalance, devices, sharding)
    tokens = batch * training.accumulate * training.steps
    return Plan(settings, machine, network, sharding, cost, tokens, bill, memory, update, traffic)


def memory_of(
    settings: RunSettings, cost: Cost, tokens: float, devices: int = 1, sharding: Sharding = "none"
) -> MemoryCost:
    """The memory of an update on one of so many devices, with so many target tokens of a batch on it."""
    training = settings.training
    size = NARROW if training.precision == "bfloat16" else BYTES  # of "auto" the larger one
    workers = -(-(training.workers or 1) // devices)  # the setting counts those of all devices
    memory = cost.memory(tokens * (2 if training.r_drop else 1), size, workers)
    averages = BYTES * cost.weights * (training.ema > 0)
    memory = replace(memory, moments=KEPT[training.optimiser] * BYTES * cost.weights + averages)
    gathered, largest = gathered_bytes(cost, settings.model), cost.output[0] * cost.output[1] / cost.weights
    return device_memory(memory, sharding, devices, averages=averages, gathered=gathered, largest=largest)


def plan_lines(plan: Plan, hours: float | None = None) -> list[str]:
    """For a person. With `hours`, also what share of the machine's capacity in that time the run would need."""
    machine, memory = plan.machine, plan.memory
    tokens_an_update = plan.settings.batches.tokens * plan.settings.training.accumulate
    lines = [
        msg(
            f"model: {_named(plan.settings)}, {plan.cost.weights:,} weights with a vocabulary of "
            f"{plan.settings.text.vocabulary_size:,} pieces"
        ),
        msg(
            f"work: {plan.settings.training.steps:,} updates of up to {tokens_an_update:,} tokens of each side, "
            f"{plan.target_tokens:,} target tokens"
        ),
        msg(f"operations: {plan.cost.training_flops:.3g} a target token, {plan.bill.flops:.3g} in all ({FORMULA})"),
        msg(
            f"memory: {size_text(memory.total)}; weights {size_text(memory.weights + memory.copies)}, gradients "
            f"{size_text(memory.gradients)}, optimiser and averages {size_text(memory.moments)}, activations "
            f"{size_text(memory.activations)}, the loss or the last gradients {size_text(memory.passing)}; "
            f"about {size_text(memory.resident)} resident on a CPU"
        ),
        msg(
            f"time: {duration(plan.bill.seconds)}, {plan.update.total:.3g} seconds an update, on "
            f"{machine.devices} device(s) that sustain {machine.flops_per_second:.3g} operations a second each"
        ),
        *(_device_lines(plan) if machine.devices > 1 else ()),
    ]
    if machine.price_per_hour:
        lines.append(msg(f"money: {plan.bill.money:,.2f} at {machine.price_per_hour:g} an hour for each device"))
    if hours is not None:
        available = capacity(machine, hours)
        lines.append(
            msg(
                f"capacity: {hours:g} hours of these devices are {available:.2g} operations, as the paper counts; "
                f"this run needs {plan.bill.flops / available:.0%} of them"
            )
        )
    return lines


def _device_lines(plan: Plan) -> list[str]:
    """What each of several devices computes, holds and sends."""
    devices, update, network = plan.machine.devices, plan.update, plan.network
    least, sent, waiting = devices * LENGTH, size_text(plan.sent), update.exposed / update.total
    lines = [
        msg(
            f"devices: each computes {plan.sentences / devices:.3g} of the {plan.sentences:,} sentences of a batch, "
            f"and has the memory above (sharding: {plan.sharding})"
        )
    ]
    if plan.sentences < devices:
        lines.append(msg(f"a batch has fewer sentences than devices: set batches.tokens to {least:,} or more"))
    if network is None:
        lines.append(
            msg(f"communication: each device sends {sent} in an update, in no time: to count it, give --bandwidth")
        )
        return lines
    lines.append(
        msg(
            f"communication: each device sends {sent} in an update, in {update.communication:.3g} seconds at "
            f"{size_text(network.bandwidth)} a second; waiting for it is {waiting:.0%} of the time"
        )
    )
    return lines


def plan_values(plan: Plan, hours: float | None = None) -> dict[str, Any]:
    """For a program: operations, bytes, seconds, and money in the currency of the price."""
    network = plan.network and {
        "bandwidth": plan.network.bandwidth,
        "latency": plan.network.step(plan.machine.devices),
        "overlap": plan.network.overlap,
    }
    values: dict[str, Any] = {
        "weights": plan.cost.weights,
        "vocabulary": plan.settings.text.vocabulary_size,
        "updates": plan.settings.training.steps,
        "target_tokens": plan.target_tokens,
        "flops_per_target_token": plan.cost.training_flops,
        "flops": plan.bill.flops,
        "bytes": {**vars(plan.memory), "total": plan.memory.total},
        "resident_bytes": plan.memory.resident,
        "machine": vars(plan.machine),
        "seconds": plan.bill.seconds,
        "seconds_an_update": plan.update.total,
        "update": asdict(plan.update),
        "sharding": plan.sharding,
        "network": network,
        "bytes_sent_an_update": plan.sent,
        "money": plan.bill.money,
    }
    return values if hours is None else {**values, "capacity": capacity(plan.machine, hours)}


def _named(settings: RunSettings) -> str:
    """The preset whose sizes these are, or the family."""
    plain = settings.model.model_copy(update={"dropout": 0.0})
    for name, sizes in PRESETS.items():
        if model_settings(sizes).model_copy(update={"dropout": 0.0}) == plain:
            return name
    return settings.model.kind


def size_text(count: float) -> str:
    """Bytes in decimal units."""
    unit = next((unit for unit in UNITS if count < 1000 * unit[0]), UNITS[-1])
    return f"{count / unit[0]:.3g} {unit[1]}"


def duration(seconds: float, digits: int = 3) -> str:
    """In seconds, minutes or hours, rounded to so many digits; hours have one more."""
    if seconds < 120:
        value, unit = seconds, "seconds"
    elif seconds < 7200:
        value, unit = seconds / 60, "minutes"
    else:
        value, unit, digits = seconds / 3600, "hours", digits + 1
    return f"{float(f'{value:.{digits}g}'):g} {unit}"
