"""Inference engine: a model or an ensemble in the given precision, prepared where possible."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TypeVar

import torch
from torch import nn

from openwork.base.errors import UsageError
from openwork.decoding.ensemble import Ensemble
from openwork.inference.prepared import can_be_prepared, fastest, prepare
from openwork.inference.prepared.products import ProductType, available
from openwork.inference.processes import can_be_copied, in_processes
from openwork.inference.settings import TranslationPrecision
from openwork.machine.device import has_narrow_kernels
from openwork.machine.precision import choose_precision, computing_in
from openwork.machine.workers import Workers, one_thread
from openwork.models.interfaces import SequenceModel, StepModel

T = TypeVar("T")
R = TypeVar("R")

BATCHES_EACH = 8  # a process; with fewer, the tenth of a second for copying does not pay


class Engine:
    """Prepares `model`, again whenever its weights have changed.

    A model that cannot be prepared (`prepared/`), or not on this processor, is used as it is, in float32 or bfloat16.
    "auto" is the fastest precision on this machine, by measurement. UsageError for int8 where it is not available.
    """

    def __init__(self, model: SequenceModel | Ensemble, precision: TranslationPrecision) -> None:
        self.model = model
        members = model.members if isinstance(model, Ensemble) else (model,)
        self.members = [member for member in members if isinstance(member, SequenceModel)]
        self.is_prepared = all(can_be_prepared(member) for member in self.members)
        self.precision: ProductType = self._precision(precision)
        if self.precision == "bfloat16" and not has_narrow_kernels():
            self.is_prepared = False
        self._made: StepModel = model
        self._weights: object = None

    def _precision(self, wanted: TranslationPrecision) -> ProductType:
        if self.is_prepared and wanted == "auto":
            return fastest(self.members[0])
        if wanted == "int8" and not (self.is_prepared and "int8" in available()):
            raise UsageError(
                "there are no products of eight bits here",
                why="they need a processor with VNNI instructions, and a Transformer with the paper's attention",
                hint="--precision auto takes the fastest of what there is",
                code="U047",
            )
        return "int8" if wanted == "int8" else choose_precision(wanted, self.device)

    def ready(self) -> StepModel:
        """The model for a search, with its current weights."""
        if self.model.training:
            self.model.eval()
        if not self.is_prepared:
            return self.model
        weights = _identity(self.model)
        if weights != self._weights:
            prepared = [prepare(member, self.precision) for member in self.members]
            self._made = prepared[0] if len(prepared) == 1 else Ensemble(prepared)
            self._weights = weights
        return self._made

    def in_turn(self, search: Callable[[T], R], batches: Sequence[T]) -> Iterator[R]:
        """The results of `search` in the order of the batches, on all cores that torch may use.

        In processes if there is enough work to pay for starting them, else in threads.
        """
        if self.is_prepared and len(batches) > BATCHES_EACH * self.cores > BATCHES_EACH and can_be_copied():
            return in_processes(search, batches, self.cores)
        return self.workers.in_turn(search, batches)

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(self.model.parameters()).device

    @property
    def cores(self) -> int:
        """The number of cores on which searches run in parallel; a GPU divides its work itself."""
        return torch.get_num_threads() if self.device.type == "cpu" else 1

    @cached_property
    def workers(self) -> Workers:
        """The threads that search in parallel."""
        return Workers(self.cores)

    def computing(self) -> AbstractContextManager[object]:
        """The context for computing with the model of `ready`: its precision, or one thread if prepared."""
        if self.is_prepared or self.precision == "int8":  # int8 is never without preparing
            return one_thread()
        return computing_in(self.precision, self.device)


def _identity(model: nn.Module) -> object:
    """A value that changes when a weight is written or replaced: addresses and versions of all weights."""
    found, parts = [], [model]
    while parts:  # `parameters` and `buffers` take longer than some translations' steps
        part = parts.pop()
        parts += [inner for inner in part._modules.values() if inner is not None]
        passing = part._non_persistent_buffers_set  # such as tables that grow with the longest sentence
        facts = [buffer for name, buffer in part._buffers.items() if name not in passing]
        for weight in (*part._parameters.values(), *facts):
            if weight is not None:
                found.append((weight.data_ptr(), 0 if weight.is_inference() else weight._version))
    return found
