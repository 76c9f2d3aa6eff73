"""Models of several kinds with the same budget, for a fair comparison: weights, operations, or seconds.

The width and all other widths of the settings are scaled; layers and heads stay. The width of a feed-forward network is
then increased alone, in finer steps; not for seconds, which vary between measurements.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from openwork.base.errors import UsageError
from openwork.base.messages import msg, nearest
from openwork.base.phrases import AsIs, Joined
from openwork.cost.cost import LENGTH, cost_of, weights_of
from openwork.cost.counted import full_batch
from openwork.models.build import build_model
from openwork.models.families import FAMILIES, ModelSettings, model_settings, reads
from openwork.models.presets import PRESETS
from openwork.text.settings import TextSettings
from openwork.training.optimisers import make_optimiser
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater, timed_trial

VOCABULARY = TextSettings().vocabulary_size
SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}
BUDGET = re.compile(r"([0-9]*\.?[0-9]+)\s*([kmgbt]?)(flops?|s)?", re.IGNORECASE)
INNER = "feedforward_width"
WIDEST = 1 << 20  # no model is made wider, whatever the budget
SENTENCES, TRIALS = 40, 2  # of a timed update, and how often it is timed

Price = Callable[[ModelSettings], float]


@dataclass(frozen=True)
class Budget:
    """A number of weights, of forward operations for a target token, or of seconds of an update, as `kind` says."""

    amount: float
    kind: str

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Reads a budget: 7M or 7000000 weights, 20Mflop operations, 0.5s seconds."""
        found = BUDGET.fullmatch(text.strip())
        if found is None or not float(found[1]) or (found[2] and found[3] == "s"):
            raise UsageError(
                f"--budget {text}: not understood",
                hint="weights such as 7M, operations for a target token such as 20Mflop, or seconds of an update such "
                "as 0.5s",
                code="U076",
            )
        kind = {"s": "seconds", "": "weights"}.get((found[3] or "").lower(), "operations")
        return cls(float(found[1]) * SCALES[found[2].lower()], kind)


@dataclass(frozen=True)
class Sized:
    """A model as large as the budget allows. `seconds` of an update only for a budget in seconds."""

    name: str
    settings: ModelSettings
    weights: int
    flops: float
    seconds: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "model": self.settings.model_dump(mode="json", exclude_none=True),
            "weights": self.weights,
            "forward_flops_per_target_token": self.flops,
            "seconds_an_update": self.seconds,
        }


def compare_sizes(names: Sequence[str], budget: Budget, vocabulary: int = VOCABULARY) -> list[Sized]:
    """Makes each preset or kind as large as the budget allows. UsageError where none is small enough."""
    prices: dict[str, Price] = {
        "weights": lambda settings: float(weights_of(settings, vocabulary)),
        "operations": lambda settings: cost_of(settings, vocabulary).forward_flops,
        "seconds": lambda settings: seconds_an_update(settings, vocabulary),
    }
    is_timed, found = budget.kind == "seconds", []
    for name in names:
        _check_source(name)
        settings = size(name, prices[budget.kind], budget.amount, stretch=not is_timed)
        seconds = prices["seconds"](settings) if is_timed else None
        flops = prices["operations"](settings)
        found.append(Sized(name, settings, weights_of(settings, vocabulary), flops, seconds))
    return found


def _check_source(name: str) -> None:
    """What a model of numbers costs follows from how they are prepared, which a preset does not say."""
    if reads(starting_point(name)) != "text":
        raise UsageError(
            f"{name}: it reads numbers, and only models of texts are sized here",
            why=msg("how many numbers a source has follows from how it is prepared, which a run file says"),
            hint="an experiment sizes such models by their sources: budget.weights in its file",
            code="U131",
        )


def size(name: str, price: Price, most: float, *, stretch: bool = True) -> ModelSettings:
    """The widest model of that name whose price is at most `most`; `stretch`: in fine steps."""
    return fitted(starting_point(name), price, most, name, stretch=stretch)


def fitted(settings: ModelSettings, price: Price, most: float, name: str, *, stretch: bool = True) -> ModelSettings:
    """The model in the greatest width whose price is at most `most`; UsageError, which names it, for none.

    Its other widths stay in proportion; `stretch`: in fine steps.
    """
    step = 2 * getattr(settings, "heads", 1)  # whole heads of an even width, which rotary positions need
    count = _most(lambda count: price(scaled(settings, step * count)) <= most, 1)
    if count == 0:
        least = price(scaled(settings, step))
        raise UsageError(
            f"{name}: no model of this kind is so small",
            why=f"with a width of {step} it has {least:,.6g} of the budget's {most:,.6g}",
            hint="give a larger budget, or a smaller --vocabulary",
            code="U077",
        )
    found = scaled(settings, step * count)
    if not stretch or INNER not in _widths(found):
        return found
    first = _widths(found)[INNER]
    more = _most(lambda more: price(found.model_copy(update={INNER: first + more})) <= most, 0)
    return found.model_copy(update={INNER: first + more})


def starting_point(name: str) -> ModelSettings:
    """The settings of a preset, of its small version, or of a kind."""
    for preset in (name, f"{name}-small"):
        if preset in PRESETS:
            return model_settings(PRESETS[preset])
    kinds = {str(family.model_fields["kind"].default) for family in FAMILIES}
    if name in kinds:
        return model_settings({"kind": name})
    raise UsageError(
        f"{name}: neither a preset nor a kind of model",
        why=f"presets: {', '.join(PRESETS)}; kinds: {', '.join(sorted(kinds))}",
        hint=nearest(name, [*PRESETS, *sorted(kinds)]) or "openwork info lists the presets with their sizes",
        code="U078",
    )


def scaled(settings: ModelSettings, width: int) -> ModelSettings:
    """The model with this width and its other widths in proportion, rounded to even numbers."""
    before = _widths(settings)
    others = {key: max(2, 2 * round(value * width / before["width"] / 2)) for key, value in before.items()}
    return model_settings({**settings.model_dump(exclude_none=True), **others, "width": width})


def _widths(settings: ModelSettings) -> dict[str, int]:
    values = settings.model_dump(exclude_none=True)
    return {key: value for key, value in values.items() if key.endswith("width")}


def _most(fits: Callable[[int], bool], least: int) -> int:
    """The largest number from `least` on that fits, provided that all smaller ones fit; `least` - 1 where none does."""
    low, high = least - 1, max(least, 1)
    while high <= WIDEST and fits(high):
        low, high = high, 2 * high
    return bisect_left(range(high), True, lo=low + 1, key=lambda number: not fits(number)) - 1


def seconds_an_update(settings: ModelSettings, vocabulary: int) -> float:
    """Time of an update on 1,000 target tokens in sentences of 25, in float32 on the CPU: the best of two."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build_model(settings, vocabulary, vocabulary)
        training = TrainingSettings(precision="float32")
        optimiser, schedule = make_optimiser(model, training), make_schedule(training, model.output_weight.shape[1])
        updater = Updater(model, optimiser, schedule, training, "float32")
        source, target = torch.randint(4, vocabulary, (2, SENTENCES, LENGTH))
        batch = full_batch(source, target)
        timed_trial(updater, [batch])
        return min(timed_trial(updater, [batch]) for _ in range(TRIALS))


def size_lines(found: Sequence[Sized], budget: Budget, vocabulary: int = VOCABULARY) -> list[str]:
    """The sizes for a person: two lines for each model, the second as in a run file."""
    sizes = {
        "weights": msg(f"sized to {budget.amount:,.0f} weights"),
        "operations": msg(f"sized to {budget.amount / 1e6:,.6g} million operations forward for a target token"),
        "seconds": msg(f"sized to {budget.amount:g} seconds for an update of {SENTENCES * LENGTH:,} target tokens"),
    }
    asked = msg(f"with a vocabulary of {vocabulary:,} pieces, in sentences of {LENGTH} tokens")
    lines: list[str] = [sizes[budget.kind], asked]
    for sized in found:
        figures = msg(
            f"{sized.weights:,} weights, {sized.flops / 1e6:,.2f} million operations forward for a target token"
        )
        took = msg(f", {sized.seconds:.3g} seconds an update") if sized.seconds is not None else ""
        widths = ", ".join(f"{key} = {value}" for key, value in _widths(sized.settings).items())
        lines += [Joined(AsIs(f"{sized.name}: "), figures, took), AsIs(f"  kind = {sized.settings.kind}, {widths}")]
    return lines
