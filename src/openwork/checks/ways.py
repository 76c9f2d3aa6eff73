"""Checks of one model that reads the same in two ways: in steps, in company, with padding, with another future."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from openwork.checks.check import LargestDifference
from openwork.checks.passes import OUTPUT, BranchingPass, TwoPasses, compare, reading
from openwork.checks.subject import Spot, VerifyContext, changed_from
from openwork.inference.prepared import can_be_prepared, prepare
from openwork.inspection.parting import first_endless
from openwork.models.weights import model_weights

STEPS = (1, 3, 24)  # target tokens read at once with a cache
BRANCHES = 4  # places in a target from which a model goes on twice
EXTRA_PADDING = 3


def finite(subject: VerifyContext) -> LargestDifference:
    """Weights, what every module gives, and the logits are finite numbers; the difference counts those that are not."""
    for name, weight in model_weights(subject.model).items():
        if endless := int((~weight.isfinite()).sum()):
            return LargestDifference(float(endless), 0.0, Spot(name))
    for number, probe in enumerate(subject.probes):
        one = reading(subject, [probe])
        if endless := int((~one.logits().isfinite()).sum()):
            place = first_endless(one.record())
            return LargestDifference(float(endless), 0.0, subject.spot(place, probe, number) if place else Spot(OUTPUT))
    return LargestDifference(0.0, 0.0)


def future(subject: VerifyContext) -> LargestDifference:
    """Other tokens from a place on change nothing before it."""

    def pairs() -> Iterator[TwoPasses]:
        for probe in subject.probes:
            size = len(probe.target)
            for place in sorted({1, size // 2, size - 1} - {0}):
                changed = changed_from(subject, probe, place)
                yield TwoPasses(reading(subject, [probe]), reading(subject, [changed]), probe, until=place)

    return compare(subject, pairs())


def cached(subject: VerifyContext) -> LargestDifference:
    """The target in steps, each using what is kept of those before, is the target at once."""
    return compare(
        subject,
        (
            TwoPasses(reading(subject, [probe]), reading(subject, [probe], size=size), probe)
            for probe in subject.probes
            for size in STEPS
        ),
    )


def branched(subject: VerifyContext) -> LargestDifference:
    """A state stays what it is when the model goes on from it: a second continuation changes nothing in the first."""
    models = [subject.model, *([prepare(subject.model)] if can_be_prepared(subject.model) else [])]

    def pairs() -> Iterator[TwoPasses]:
        for model in models:
            for probe in subject.probes:
                one = replace(reading(subject, [probe], size=max(1, len(probe.target) // BRANCHES)), model=model)
                yield TwoPasses(one, BranchingPass(one.model, one.source, one.lengths, one.steps), probe)

    return compare(subject, pairs())


def batched(subject: VerifyContext) -> LargestDifference:
    """A sentence in a batch of others, all of one length, gives what it gives alone."""
    probes = subject.level_probes
    together = reading(subject, probes)
    return compare(
        subject, (TwoPasses(reading(subject, [probe]), together, probe, (0, row)) for row, probe in enumerate(probes))
    )


def padded(subject: VerifyContext) -> LargestDifference:
    """Padding behind a sentence changes nothing, however much there is and whatever stands in it."""
    probes = subject.probes
    together = reading(subject, probes)
    filled = replace(together, source=_fill_padding(subject, together.source, together.lengths))

    def pairs() -> Iterator[TwoPasses]:
        for row, probe in enumerate(probes):
            yield TwoPasses(reading(subject, [probe]), reading(subject, [probe], padding=EXTRA_PADDING), probe)
            yield TwoPasses(together, filled, probe, (row, row))

    return compare(subject, pairs())


def _fill_padding(subject: VerifyContext, source: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """A real piece wherever there is padding."""
    real = torch.arange(source.shape[1], device=source.device) < lengths[:, None]
    return source.masked_fill(~real, subject.other(0, target=False))
