"""A pass of a model over sentences, and the comparison of two passes."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import LargestDifference
from openwork.checks.context import Probe, Spot, VerifyContext
from openwork.inspection.parting import SOURCE, TARGET, DivergencePlace, Record, difference, first_parting, watching
from openwork.models.interfaces import StepModel

TOLERANCE = 1e-4  # of the largest number compared, at least 1: sums in float32 made in another order
OUTPUT = "output"  # the product with the output matrix, which belongs to no module


@dataclass(frozen=True)
class Pass:
    """Sources and targets, padded on the right; `steps` are the parts of the targets (row, position) in their order.

    `around` is a context for the computation, such as another kernel or number type; `model` is the bundle's, or one
    made of it.
    """

    model: StepModel[Any]
    source: Tensor
    lengths: Tensor
    steps: tuple[Tensor, ...]
    around: Callable[[], AbstractContextManager[object]] = nullcontext

    @torch.inference_mode()
    def logits(self, record: Record | None = None) -> Tensor:
        """Logits (row, position, vocabulary) of the token after each target token."""
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
        """The output of every module during the pass; empty for a model without modules."""
        if not isinstance(self.model, nn.Module):
            return Record()
        with watching(self.model) as record:
            self.logits(record)
        return record


@dataclass(frozen=True)
class BranchingPass(Pass):
    """A pass that also reads other tokens from the state before each step, once and in two rows, and drops the results.

    A state is a value, so this changes nothing. No module is recorded: the other tokens pass through the same ones.
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


def reading(context: VerifyContext, probes: Sequence[Probe], *, padding: int = 0, size: int | None = None) -> Pass:
    """The probes as one batch with `padding` extra positions; targets in steps of `size` tokens, None: all at once."""
    sources, targets = (
        pad_sequence([torch.tensor(ids, device=context.device) for ids in side], True, SYMBOL_IDS.pad)
        for side in ([one.source for one in probes], [one.target for one in probes])
    )
    lengths = torch.tensor([len(one.source) for one in probes], device=context.device)
    sources = nn.functional.pad(sources, (0, padding), value=SYMBOL_IDS.pad)
    return Pass(context.model, sources, lengths, targets.split(size or targets.shape[1], dim=1))


@dataclass(frozen=True)
class TwoPasses:
    """A probe in two passes: its row in each, and the position of its target up to which they must agree."""

    one: Pass
    other: Pass
    probe: Probe
    rows: tuple[int, int] = (0, 0)
    until: int | None = None

    @property
    def limits(self) -> dict[str, int]:
        return {SOURCE: len(self.probe.source), TARGET: len(self.probe.target) if self.until is None else self.until}


def compare(context: VerifyContext, pairs: Iterable[TwoPasses], tolerance: float = TOLERANCE) -> LargestDifference:
    """The largest difference between the logits of all pairs, relative to the tolerance there.

    The passes of the first pair that differs are repeated with every module recorded, to name the place.
    """
    worst, spot = LargestDifference(0.0, tolerance), None
    for number, pair in enumerate(pairs):
        left, right = (
            way.logits()[row, : pair.limits[TARGET]] for way, row in zip((pair.one, pair.other), pair.rows, strict=True)
        )
        allowed = tolerance * max(1.0, float(left.abs().max()), float(right.abs().max()))
        found = difference(left, right)
        if spot is None and float(found.max()) > allowed:
            spot = _spot(context, pair, found, tolerance, number)
        if float(found.max()) / allowed >= worst.difference / worst.tolerance:
            worst = LargestDifference(float(found.max()), allowed)
    return LargestDifference(worst.difference, worst.tolerance, spot)


def _spot(context: VerifyContext, pair: TwoPasses, found: Tensor, tolerance: float, number: int) -> Spot:
    place = first_parting(pair.one.record(), pair.other.record(), pair.rows, pair.limits, tolerance)
    if place is None:
        place = DivergencePlace(OUTPUT, TARGET, int(found.amax(-1).argmax()))
    return context.spot(place, pair.probe, number)
