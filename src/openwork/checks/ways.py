"""Checks of two passes of a model: in steps, in a batch, with padding, another future, kernel or number type."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from openwork.base.phrases import AsIs, Joined
from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.context import Probe, Spot, VerifyContext
from openwork.inference.prepared import can_be_prepared, prepare
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.inspection.parting import (
    SOURCE,
    TARGET,
    DivergencePlace,
    Record,
    difference,
    first_endless,
    first_parting,
    watching,
)
from openwork.machine.precision import computing_in
from openwork.models.interfaces import StepModel
from openwork.models.seq2seq import Transformer
from openwork.models.weights import model_weights
from openwork.nn.attention import KernelAttention
from openwork.nn.kernels import reference
from openwork.nn.recording import lending

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
    targets = pad_sequence([torch.tensor(one.target, device=context.device) for one in probes], True, SYMBOL_IDS.pad)
    sources, lengths = context.sources.padded([one.source for one in probes], context.device)
    sources = context.sources.more_padding(sources, padding)
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
            place = first_parting(pair.one.record(), pair.other.record(), pair.rows, pair.limits, tolerance)
            output = DivergencePlace(OUTPUT, TARGET, int(found.amax(-1).argmax()))
            spot = context.spot(place or output, pair.probe, number)
        if float(found.max()) / allowed >= worst.difference / worst.tolerance:
            worst = LargestDifference(float(found.max()), allowed)
    return LargestDifference(worst.difference, worst.tolerance, spot)


STEPS = (1, 3, 24)  # target tokens read at once with a cache
BRANCHES = 4  # places in a target where a state gets two continuations
EXTRA_PADDING = 3


def finite(context: VerifyContext) -> LargestDifference:
    """Weights, module outputs and logits are finite; the difference counts the numbers that are not."""
    for name, weight in model_weights(context.model).items():
        if endless := int((~weight.isfinite()).sum()):
            return LargestDifference(float(endless), 0.0, Spot(name))
    for number, probe in enumerate(context.probes):
        one = reading(context, [probe])
        if endless := int((~one.logits().isfinite()).sum()):
            place = first_endless(one.record())
            return LargestDifference(float(endless), 0.0, context.spot(place, probe, number) if place else Spot(OUTPUT))
    return LargestDifference(0.0, 0.0)


def future(context: VerifyContext) -> LargestDifference:
    """Causal masking: changing tokens from a position on changes nothing before it."""

    def pairs() -> Iterator[TwoPasses]:
        for probe in context.probes:
            size = len(probe.target)
            for place in sorted({1, size // 2, size - 1} - {0}):
                changed = replace(probe, target=(*probe.target[:place], *map(context.other, probe.target[place:])))
                yield TwoPasses(reading(context, [probe]), reading(context, [changed]), probe, until=place)

    return compare(context, pairs())


def cached(context: VerifyContext) -> LargestDifference:
    """Reading the target in steps with a cache gives the same as reading it at once."""
    sizes = product(context.probes, STEPS)
    pairs = (TwoPasses(reading(context, [one]), reading(context, [one], size=size), one) for one, size in sizes)
    return compare(context, pairs)


def branched(context: VerifyContext) -> LargestDifference:
    """A state does not change when the model continues from it: a second continuation leaves the first as it is."""
    models = [context.model, *([prepare(context.model)] if can_be_prepared(context.model) else [])]

    def pairs() -> Iterator[TwoPasses]:
        for model, probe in product(models, context.probes):
            one = replace(reading(context, [probe], size=max(1, len(probe.target) // BRANCHES)), model=model)
            yield TwoPasses(one, BranchingPass(one.model, one.source, one.lengths, one.steps), probe)

    return compare(context, pairs())


def batched(context: VerifyContext) -> LargestDifference:
    """A sentence in a batch of sentences of the same length gives the same as alone."""
    probes = context.level_probes
    together = reading(context, probes)
    return compare(
        context, (TwoPasses(reading(context, [probe]), together, probe, (0, row)) for row, probe in enumerate(probes))
    )


def padded(context: VerifyContext) -> LargestDifference:
    """Padding after a sentence changes nothing, whatever its length and the tokens in it."""
    probes = context.probes
    together = reading(context, probes)
    real = torch.arange(together.source.shape[1], device=context.device) < together.lengths[:, None]
    filled = replace(together, source=context.sources.other_padding(together.source, real))

    def pairs() -> Iterator[TwoPasses]:
        for row, probe in enumerate(probes):
            more = context.within(len(probe.source) + EXTRA_PADDING) - len(probe.source)
            yield TwoPasses(reading(context, [probe]), reading(context, [probe], padding=more), probe)
            yield TwoPasses(together, filled, probe, (row, row))

    return compare(context, pairs())


# bfloat16 keeps 8 binary digits: each rounding changes a number by up to 1/256, and a pass makes many of them.
HALF_TOLERANCE = 0.05


def kernels(context: VerifyContext) -> LargestDifference:
    """The attention kernels agree with the paper's formula, with padding and without."""
    if not any(isinstance(module, KernelAttention) for module in context.model.modules()):
        raise NotApplicable("it has no attention that a kernel computes")
    formula = partial(lending, context.model, lambda name: reference.attention)
    return compare(context, _passes(context, around=formula))


def half_precision(context: VerifyContext) -> LargestDifference:
    """Matrix products in bfloat16 agree roughly with those in float32."""
    passes = _passes(context, around=partial(computing_in, "bfloat16", context.device))
    return compare(context, passes, HALF_TOLERANCE)


def prepared(context: VerifyContext) -> LargestDifference:
    """The model prepared for inference, with packed weights and a cache written in place, gives the same."""
    if not can_be_prepared(context.model):
        raise NotApplicable("it translates with the model as it is: only the paper's attention, on a CPU, is prepared")
    assert isinstance(context.model, Transformer)
    return compare(context, _passes(context, model=PreparedTransformer(context.model)))


def _passes(context: VerifyContext, *, padded: bool = True, **changed: Any) -> Iterator[TwoPasses]:
    """Sentences of one length without padding and, with `padded`, all in one batch with it: as usual, and changed."""
    for probes in (context.level_probes, context.probes) if padded else (context.level_probes,):
        usual = reading(context, probes)
        other = replace(usual, **changed)
        yield from (TwoPasses(usual, other, probe, (row, row)) for row, probe in enumerate(probes))


def compiled(context: VerifyContext) -> LargestDifference:
    """The model compiled by torch.compile gives the same as the model."""
    if not context.compiling:
        raise NotApplicable("compiling can take minutes; --compiled waits for it")
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=context.device))
    except Exception as error:  # depends on what the machine lacks: a compiler, headers, a working cache
        first_line = (str(error).splitlines() or [""])[0]
        raise NotApplicable(Joined("torch.compile does not work on this machine: ", AsIs(first_line))) from error
    model = SimpleNamespace(start=torch.compile(context.model.start), step=torch.compile(context.model.step))
    return compare(context, _passes(context, padded=False, model=model))
