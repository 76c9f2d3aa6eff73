"""Checks of one model that reads the same in two ways: in steps, in company, with padding, with another future."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from openwork.inspection.parting import first_endless
from openwork.models.prepared import can_be_prepared, prepare
from openwork.systems.verify.check import Finding
from openwork.systems.verify.passes import OUTPUT, BranchingPass, Pair, compare, reading
from openwork.systems.verify.subject import Spot, Subject, changed_from
from openwork.training.weights import model_weights

STEPS = (1, 3, 24)  # target tokens read at once with a cache
BRANCHES = 4  # places in a target from which a model goes on twice
EXTRA_PADDING = 3


def finite(subject: Subject) -> Finding:
    """Weights, what every module gives, and the logits are finite numbers; the difference counts those that are not."""
    for name, weight in model_weights(subject.model).items():
        if endless := int((~weight.isfinite()).sum()):
            return Finding(float(endless), 0.0, Spot(name))
    for number, probe in enumerate(subject.probes):
        one = reading(subject, [probe])
        if endless := int((~one.logits().isfinite()).sum()):
            place = first_endless(one.record())
            return Finding(float(endless), 0.0, subject.spot(place, probe, number) if place else Spot(OUTPUT))
    return Finding(0.0, 0.0)


def future(subject: Subject) -> Finding:
    """Other tokens from a place on change nothing before it."""

    def pairs() -> Iterator[Pair]:
        for probe in subject.probes:
            size = len(probe.target)
            for place in sorted({1, size // 2, size - 1} - {0}):
                changed = changed_from(subject, probe, place)
                yield Pair(reading(subject, [probe]), reading(subject, [changed]), probe, until=place)

    return compare(subject, pairs())


def cached(subject: Subject) -> Finding:
    """The target in steps, each using what is kept of those before, is the target at once."""
    return compare(
        subject,
        (
            Pair(reading(subject, [probe]), reading(subject, [probe], size=size), probe)
            for probe in subject.probes
            for size in STEPS
        ),
    )


def branched(subject: Subject) -> Finding:
    """A state stays what it is when the model goes on from it: a second continuation changes nothing in the first."""
    models = [subject.model, *([prepare(subject.model)] if can_be_prepared(subject.model) else [])]

    def pairs() -> Iterator[Pair]:
        for model in models:
            for probe in subject.probes:
                one = replace(reading(subject, [probe], size=max(1, len(probe.target) // BRANCHES)), model=model)
                yield Pair(one, BranchingPass(one.model, one.source, one.lengths, one.steps), probe)

    return compare(subject, pairs())


def batched(subject: Subject) -> Finding:
    """A sentence in a batch of others, all of one length, gives what it gives alone."""
    probes = subject.level_probes
    together = reading(subject, probes)
    return compare(
        subject, (Pair(reading(subject, [probe]), together, probe, (0, row)) for row, probe in enumerate(probes))
    )


def padded(subject: Subject) -> Finding:
    """Padding behind a sentence changes nothing, however much there is and whatever stands in it."""
    probes = subject.probes
    together = reading(subject, probes)
    filled = replace(together, source=_fill_padding(subject, together.source, together.lengths))

    def pairs() -> Iterator[Pair]:
        for row, probe in enumerate(probes):
            yield Pair(reading(subject, [probe]), reading(subject, [probe], padding=EXTRA_PADDING), probe)
            yield Pair(together, filled, probe, (row, row))

    return compare(subject, pairs())


def _fill_padding(subject: Subject, source: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """A real piece wherever there is padding."""
    real = torch.arange(source.shape[1], device=source.device) < lengths[:, None]
    return source.masked_fill(~real, subject.other(0, target=False))
