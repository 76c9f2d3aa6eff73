"""Checks of a model that reads the same input in two ways: in steps, in a batch, with padding, with another future."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import torch

from openwork.checks.check import LargestDifference
from openwork.checks.context import Spot, VerifyContext, changed_from
from openwork.checks.passes import OUTPUT, BranchingPass, TwoPasses, compare, reading
from openwork.inference.prepared import can_be_prepared, prepare
from openwork.inspection.parting import first_endless
from openwork.models.weights import model_weights

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
                changed = changed_from(context, probe, place)
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
        for model in models:
            for probe in context.probes:
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
    filled = replace(together, source=together.source.masked_fill(~real, context.other(0, target=False)))

    def pairs() -> Iterator[TwoPasses]:
        for row, probe in enumerate(probes):
            yield TwoPasses(reading(context, [probe]), reading(context, [probe], padding=EXTRA_PADDING), probe)
            yield TwoPasses(together, filled, probe, (row, row))

    return compare(context, pairs())
