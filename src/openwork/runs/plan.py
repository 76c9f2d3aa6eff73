"""The plan of a run, from its settings alone: weights, operations, memory, time and money. No torch here."""

from dataclasses import dataclass, replace
from typing import Any

from openwork.base.messages import msg
from openwork.cost.cost import FORMULA, Bill, Cost, Machine, cost_of
from openwork.cost.part import BYTES, MemoryCost
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.runs.file.settings import RunSettings

P100 = 9.5e12
"""Operations a second in single precision of the paper's P100s (section 6.1, footnote 5)."""

NARROW = 2  # bytes of a bfloat16
UNITS = ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
# Numbers that an optimiser keeps for each weight; adafactor's rows and columns are too few to count.
KEPT = {"adam": 2, "adamw": 2, "sgd": 1, "adagrad": 1, "adafactor": 0}


@dataclass(frozen=True)
class Plan:
    """The most that a run with these settings takes: every batch full, every update made."""

    settings: RunSettings
    machine: Machine
    cost: Cost
    target_tokens: int
    bill: Bill
    memory: MemoryCost

    @property
    def tokens_an_update(self) -> int:
        """Of each side."""
        return self.settings.batches.tokens * self.settings.training.accumulate

    @property
    def seconds_an_update(self) -> float:
        """Of a full one."""
        return self.bill.seconds / self.settings.training.steps


def capacity(machine: Machine, hours: float) -> float:
    """All the operations that the machine could make in that time: how the paper counts (section 6.1)."""
    return machine.flops_per_second * machine.devices * hours * 3600


def make_plan(settings: RunSettings, machine: Machine) -> Plan:
    """Counts two passes an update where R-Drop wants them; validations are not counted."""
    training, cost = settings.training, cost_of(settings.model, settings.text.vocabulary_size)
    tokens = settings.batches.tokens * training.accumulate * training.steps
    bill = cost.training(tokens * (2 if training.r_drop else 1), machine)
    return Plan(settings, machine, cost, tokens, bill, memory_of(settings, cost, settings.batches.tokens))


def memory_of(settings: RunSettings, cost: Cost, tokens: float) -> MemoryCost:
    """The memory of an update with so many target tokens in a batch."""
    training = settings.training
    size = NARROW if training.precision == "bfloat16" else BYTES  # of "auto" the larger one
    memory = cost.memory(tokens * (2 if training.r_drop else 1), size, training.workers or 1)
    moments = KEPT[training.optimiser] + (training.ema > 0)
    return replace(memory, moments=moments * BYTES * cost.weights)


def plan_lines(plan: Plan, hours: float | None = None) -> list[str]:
    """For a person. With `hours`, also what share of the machine's capacity in that time the run would need."""
    machine, memory = plan.machine, plan.memory
    lines = [
        msg(
            f"model: {_named(plan.settings)}, {plan.cost.weights:,} weights with a vocabulary of "
            f"{plan.settings.text.vocabulary_size:,} pieces"
        ),
        msg(
            f"work: {plan.settings.training.steps:,} updates of up to {plan.tokens_an_update:,} tokens of each side, "
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
            f"time: {duration(plan.bill.seconds)}, {plan.seconds_an_update:.3g} seconds an update, on "
            f"{machine.devices} device(s) that sustain {machine.flops_per_second:.3g} operations a second each"
        ),
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


def plan_values(plan: Plan, hours: float | None = None) -> dict[str, Any]:
    """For a program: operations, bytes, seconds, and money in the currency of the price."""
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
        "seconds_an_update": plan.seconds_an_update,
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
