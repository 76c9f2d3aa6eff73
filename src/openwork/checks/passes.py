"""One pass of a model over sentences, in one of several ways, and two passes compared."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import LargestDifference
from openwork.checks.subject import Probe, Spot, VerifyContext
from openwork.inspection.parting import SOURCE, TARGET, DivergencePlace, Record, difference, first_parting, watching
from openwork.models.interfaces import StepModel

TOLERANCE = 1e-4  # of the largest number compared, at least 1: sums in float32 made in another order
OUTPUT = "output"  # the product with the output matrix, which belongs to no module


@dataclass(frozen=True)
class Pass:
    """Sources and targets, padded on the right; `steps` are the parts of the targets (row, position) in their order.

    `around` is what the computation stands in, such as another kernel or number type; `model` another one than the
    bundle's where it was made anew.
    """

    model: StepModel[Any]
    source: Tensor
    lengths: Tensor
    steps: tuple[Tensor, ...]
    around: Callable[[], AbstractContextManager[object]] = nullcontext

    @torch.inference_mode()
    def logits(self, record: Record | None = None) -> Tensor:
        """(row, position, vocabulary) of what follows each target token."""
        record, parts = record or Record(), []
        with self.around():
            record.side = SOURCE
            state = self.model.start(self.source, self.lengths)
            record.side = TARGET
            for tokens in self.steps:
                logits, state = self.step(tokens, state)
                parts.append(logits)
        return torch.cat(parts, dim=1)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step of the model."""
        return self.model.step(tokens, state)

    def record(self) -> Record:
        """What every module does meanwhile; of a model without modules nothing is known."""
        if not isinstance(self.model, nn.Module):
            return Record()
        with watching(self.model) as record:
            self.logits(record)
        return record


@dataclass(frozen=True)
class BranchingPass(Pass):
    """After each step, other tokens are read from the state before it, in one row and in two; what comes is dropped.

    A state is a value, so the pass goes on as if nothing had happened. Which module parts is not known: the other
    tokens pass through the same ones.
    """

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        taken = self.model.step(tokens, state)
        other = torch.where(tokens > SYMBOL_IDS.end + 1, tokens - 1, SYMBOL_IDS.end + 1)
        self.model.step(other, state)
        twice = torch.arange(tokens.shape[0], device=tokens.device).repeat_interleave(2)
        self.model.step(other[twice], state.select(twice))
        return taken

    def record(self) -> Record:
        return Record()


def reading(subject: VerifyContext, probes: Sequence[Probe], *, padding: int = 0, size: int | None = None) -> Pass:
    """The probes as one batch, with so much padding more than needed; targets in steps of `size`, None: all at once."""
    longest = max(len(one.source) for one in probes) + padding
    widest = max(len(one.target) for one in probes)
    pad = SYMBOL_IDS.pad
    source = subject.tensor([[*one.source, *[pad] * (longest - len(one.source))] for one in probes])
    target = subject.tensor([[*one.target, *[pad] * (widest - len(one.target))] for one in probes])
    lengths = torch.tensor([len(one.source) for one in probes], device=subject.device)
    return Pass(subject.model, source, lengths, target.split(size or widest, dim=1))


@dataclass(frozen=True)
class TwoPasses:
    """A probe in two passes: in which row of each, and up to which position of its target they must agree."""

    one: Pass
    other: Pass
    probe: Probe
    rows: tuple[int, int] = (0, 0)
    until: int | None = None

    @property
    def limits(self) -> dict[str, int]:
        return {SOURCE: len(self.probe.source), TARGET: len(self.probe.target) if self.until is None else self.until}


def compare(subject: VerifyContext, pairs: Iterable[TwoPasses], tolerance: float = TOLERANCE) -> LargestDifference:
    """The largest difference between the logits of all pairs, beside the tolerance at that place.

    Of the first pair that parts, the passes are made again under watch to name the place.
    """
    worst, spot = LargestDifference(0.0, tolerance), None
    for number, pair in enumerate(pairs):
        left, right = (
            way.logits()[row, : pair.limits[TARGET]] for way, row in zip((pair.one, pair.other), pair.rows, strict=True)
        )
        allowed = tolerance * max(1.0, float(left.abs().max()), float(right.abs().max()))
        found = difference(left, right)
        if spot is None and float(found.max()) > allowed:
            spot = _spot(subject, pair, found, tolerance, number)
        if float(found.max()) / allowed >= worst.difference / worst.tolerance:
            worst = LargestDifference(float(found.max()), allowed)
    return LargestDifference(worst.difference, worst.tolerance, spot)


def _spot(subject: VerifyContext, pair: TwoPasses, found: Tensor, tolerance: float, number: int) -> Spot:
    place = first_parting(pair.one.record(), pair.other.record(), pair.rows, pair.limits, tolerance)
    if place is None:
        place = DivergencePlace(OUTPUT, TARGET, int(found.amax(-1).argmax()))
    return subject.spot(place, pair.probe, number)
