"""Checks of the ways to compute a model: attention kernels, number types, packed weights, the compiler."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from openwork.base.phrases import AsIs, Joined
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.context import VerifyContext
from openwork.checks.passes import TwoPasses, compare, reading
from openwork.inference.prepared import can_be_prepared, prepare
from openwork.inspection.capture import lending
from openwork.machine.precision import computing_in
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import KernelAttention
from openwork.nn.kernels import reference

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
    return compare(context, _passes(context, model=prepare(context.model)))


def _passes(context: VerifyContext, *, padded: bool = True, **changed: Any) -> Iterator[TwoPasses]:
    """Sentences of one length without padding and, with `padded`, all in one batch with it: as usual, and changed."""
    for probes in (context.level_probes, context.probes) if padded else (context.level_probes,):
        usual = reading(context, probes)
        other = replace(usual, **changed)
        yield from (TwoPasses(usual, other, probe, (row, row)) for row, probe in enumerate(probes))


class CompiledModel:
    """A model whose `start` and `step` are compiled. Its modules cannot be watched."""

    def __init__(self, model: SequenceModel) -> None:
        self.start = torch.compile(model.start)
        self.step = torch.compile(model.step)


def compiled(context: VerifyContext) -> LargestDifference:
    """The model compiled by torch.compile gives the same as the model."""
    if not context.compiling:
        raise NotApplicable("compiling can take minutes; --compiled waits for it")
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=context.device))
    except Exception as error:  # depends on what the machine lacks: a compiler, headers, a working cache
        first_line = (str(error).splitlines() or [""])[0]
        raise NotApplicable(Joined("torch.compile does not work on this machine: ", AsIs(first_line))) from error
    return compare(context, _passes(context, padded=False, model=CompiledModel(context.model)))
