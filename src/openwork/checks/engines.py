"""Checks of what computes the model: attention kernels, number types, packed weights, the compiler."""

from dataclasses import replace
from functools import partial

import torch

from openwork.base.phrases import AsIs, Joined
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.passes import TwoPasses, compare, reading
from openwork.checks.subject import VerifyContext
from openwork.inference.prepared import can_be_prepared, prepare
from openwork.inspection.capture import lending
from openwork.machine.precision import computing_in
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import KernelAttention
from openwork.nn.kernels import reference

# bfloat16 keeps 8 binary digits: a rounding is off by up to 1/256 of a number, and a pass makes many of them.
HALF_TOLERANCE = 0.05


def kernels(subject: VerifyContext) -> LargestDifference:
    """The kernels that the model computes with give what the paper's formula gives, with padding and without."""
    if not any(isinstance(module, KernelAttention) for module in subject.model.modules()):
        raise NotApplicable("it has no attention that a kernel computes")
    formula = partial(lending, subject.model, lambda name: reference.attention)
    return compare(subject, _whole_passes(subject, formula))


def half_precision(subject: VerifyContext) -> LargestDifference:
    """Matrix products in bfloat16 give about what those in float32 give."""
    return compare(subject, _whole_passes(subject, partial(computing_in, "bfloat16", subject.device)), HALF_TOLERANCE)


def prepared(subject: VerifyContext) -> LargestDifference:
    """Put to work for translating, with packed weights and a cache written in place, the model gives the same."""
    if not can_be_prepared(subject.model):
        raise NotApplicable("it translates with the model as it is: only the paper's attention, on a CPU, is prepared")
    pairs = []
    for probes in (subject.level_probes, subject.probes):
        one = reading(subject, probes)
        other = replace(one, model=prepare(subject.model))
        pairs += [TwoPasses(one, other, probe, (row, row)) for row, probe in enumerate(probes)]
    return compare(subject, pairs)


def _whole_passes(subject: VerifyContext, around: partial) -> list[TwoPasses]:
    """Long sentences without padding, and all sentences in one batch with it, computed so and otherwise."""
    pairs = []
    for probes in (subject.level_probes, subject.probes):
        one = reading(subject, probes)
        other = replace(one, around=around)
        pairs += [TwoPasses(one, other, probe, (row, row)) for row, probe in enumerate(probes)]
    return pairs


class CompiledModel:
    """A model of which reading the source and making a step are compiled; it offers no modules to watch."""

    def __init__(self, model: SequenceModel) -> None:
        self.start = torch.compile(model.start)
        self.step = torch.compile(model.step)


def compiled(subject: VerifyContext) -> LargestDifference:
    """torch.compile makes of the model one that gives the same."""
    if not subject.compiling:
        raise NotApplicable("compiling can take minutes; --compiled waits for it")
    _try_compiler(subject.device)
    one = reading(subject, subject.level_probes)
    other = replace(one, model=CompiledModel(subject.model))
    return compare(
        subject, [TwoPasses(one, other, probe, (row, row)) for row, probe in enumerate(subject.level_probes)]
    )


def _try_compiler(device: torch.device) -> None:
    """Compiles next to nothing, to see whether this machine has what it takes."""
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=device))
    except Exception as error:  # what is missing depends on the machine: a compiler, headers, a working cache
        first_line = (str(error).splitlines() or [""])[0]
        raise NotApplicable(Joined("torch.compile does not work on this machine: ", AsIs(first_line))) from error
