"""Inference engine: a model or an ensemble in the given precision, prepared where possible, on all cores.

Many sentences are searched in forked processes, which share the weights of this one: a search is thousands of small
operations, at each of which threads of one interpreter wait for each other. A fork takes a tenth of a second, so it
pays for many sentences only (docs/speed.md has the figures). A process with other threads must not be forked: the copy
has their locks but not the threads that release them.
"""

import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from openwork.base.errors import OpenworkError, UsageError
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.fixed.search import Found
from openwork.decoding.scoring import GivenUp
from openwork.decoding.settings import DecodingSettings
from openwork.inference.fixed.searches import FixedSearches
from openwork.inference.fixed.weights import can_be_fixed
from openwork.inference.prepared import can_be_prepared, fastest, prepare, types_of
from openwork.inference.prepared.products import ProductType
from openwork.inference.settings import TranslationPrecision
from openwork.machine.device import has_narrow_kernels
from openwork.machine.precision import TYPES, choose_precision, computing_in
from openwork.machine.workers import Workers, one_thread
from openwork.models.interfaces import SequenceModel, StepModel
from openwork.models.seq2seq import Transformer

T = TypeVar("T")
R = TypeVar("R")


def can_be_copied() -> bool:
    """Whether this process can be forked: on Linux, with no other Python thread than the main one."""
    return sys.platform == "linux" and threading.active_count() == 1


def in_processes(task: Callable[[T], R], items: Sequence[T], count: int) -> Iterator[R]:
    """Yields the results of the items in their order, computed in `count` processes.

    An item whose process ended or whose task raised an error is done here, so that the caller gets the error. No
    process is left at the end, also when the caller stops early.
    """
    processes = [_Copy(task, items) for _ in range(count)]
    waiting = iter(range(len(items)))
    results: dict[int, tuple[R, ...]] = {}
    try:
        for process in processes:
            process.give(next(waiting, None))
        for number, item in enumerate(items):
            while number not in results and any(process.number is not None for process in processes):
                at_work = {process.here: process for process in processes if process.number is not None}
                for process in [at_work[here] for here in wait(list(at_work)) if isinstance(here, Connection)]:
                    done, result = process.take()
                    results[done] = result
                    process.give(None if process.is_dead else next(waiting, None))
            result = results.pop(number, ())
            yield result[0] if result else task(item)
    finally:
        for process in processes:
            process.end()


class _Copy:
    """One process: it gets numbers of items and returns results as tuples of one, or () for a failure."""

    def __init__(self, task: Callable[[T], R], items: Sequence[T]) -> None:
        context = multiprocessing.get_context("fork")
        self.here, there = context.Pipe()
        self.number: int | None = None  # of the item in work
        self.is_dead = False
        self.process = context.Process(target=_work, args=(task, items, there, self.here), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries hold no lock of ours
            self.process.start()
        there.close()

    def give(self, number: int | None) -> None:
        """Sends the next item, or None: there are no more."""
        self.number = number
        if number is not None:
            with suppress(OSError):  # a dead process is noticed when its answer is taken
                self.here.send(number)

    def take(self) -> tuple[int, tuple[Any, ...]]:
        """The number of the item in work and its result."""
        assert self.number is not None
        number, self.number = self.number, None
        try:
            return number, self.here.recv()
        except (EOFError, OSError):
            self.is_dead = True
            self.end()
            return number, ()

    def end(self) -> None:
        self.here.close()
        self.process.kill()
        self.process.join()


def _work(task: Callable[[Any], Any], items: Sequence[Any], there: Connection, here: Connection) -> None:
    here.close()  # else this process would not notice that the other end is gone
    torch.set_num_threads(1)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            number = there.recv()
            try:
                answer: tuple[Any, ...] = (task(items[number]),)
            except Exception:  # it is raised again where the caller sees it
                answer = ()
            there.send(answer)


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
        self.one_thread_each = False  # a search; then its sums do not depend on the number of cores
        self.precision: ProductType = self._precision(precision)
        if self.precision == "bfloat16" and not has_narrow_kernels():
            self.is_prepared = False
        self._made: StepModel = model
        self._weights: object = None
        is_on_gpu = self.device.type == "cuda"
        # whether plain searches have buffers of fixed sizes (`fixed/`), and the type in which their steps compute
        self.is_fixed = is_on_gpu and can_be_fixed(model)
        self.fixed_type = TYPES.get(self.precision, torch.float32)
        if is_on_gpu and precision == "auto":
            self.fixed_type = torch.float16  # as fast as bfloat16, and finer
        self._searches: tuple[object, FixedSearches] | None = None

    @property
    def _transformers(self) -> list[Transformer]:
        """The members, where they can be prepared."""
        return [member for member in self.members if isinstance(member, Transformer)]

    def _precision(self, wanted: TranslationPrecision) -> ProductType:
        if self.is_prepared and wanted == "auto":
            return fastest(self._transformers[0])
        if wanted == "int8" and self.device.type == "cuda":
            raise UsageError(
                "products of eight bits are for processors, and this translates on a GPU",
                why="on a GPU searches compute in float16, bfloat16 or float32",
                hint="--precision auto takes float16; an int8 bundle is read all the same",
                code="U183",
            )
        if wanted == "int8" and not (self.is_prepared and all("int8" in types_of(one) for one in self._transformers)):
            raise UsageError(
                "there are no products of eight bits here",
                why="they need a Transformer of the paper's parts and a C++ compiler, or a processor with VNNI "
                "instructions and a Transformer with the paper's attention",
                hint="--precision auto takes the fastest of what there is",
                code="U047",
            )
        return "int8" if wanted == "int8" else choose_precision(wanted, self.device)

    def ready(self) -> StepModel:
        """The model for a search, with its current weights."""
        if self.model.training:
            self.model.eval()
        if not (self.is_prepared or self.is_fixed):
            return self.model
        weights = _identity(self.model)
        if self._searches is not None and weights != self._searches[0]:
            self._searches[1].refresh()
            self._searches = weights, self._searches[1]
        if not self.is_prepared:
            self._weights = weights
            return self.model
        if weights != self._weights:
            prepared = [prepare(member, self.precision) for member in self.members]
            self._made = prepared[0] if len(prepared) == 1 else Ensemble(prepared)
            self._weights = weights
        return self._made

    def fixed_search(
        self,
        source: Tensor,
        lengths: Tensor,
        settings: DecodingSettings,
        given_up: GivenUp,
        meanwhile: Callable[[], None],
    ) -> Found | None:
        """As `decode` without constraints, in buffers of fixed sizes; None where that cannot be.

        To be called within `computing` after `ready`, whose weights it uses. The device can begin the next batch before
        the result is asked for hypotheses; `meanwhile` is called while it is at work.
        """
        if not self.is_fixed:
            return None
        if self._searches is None:
            assert isinstance(self.model, Transformer)
            self._searches = self._weights, FixedSearches(self.model, self.fixed_type)
        searches = self._searches[1]
        if not searches.can_search(source, lengths, settings):
            return None
        try:
            return searches.found(source, lengths, settings, given_up, meanwhile)
        except OpenworkError:
            if self.fixed_type is not torch.float16:
                raise
            return None  # numbers may have been too large for this type: the model says more in another

    def free_memory(self) -> None:
        """Gives back what is kept for later searches, where memory is not enough."""
        if self._searches is not None:
            self._searches[1].forget()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def in_turn(self, search: Callable[[T], R], batches: Sequence[T]) -> Iterator[R]:
        """The results of `search` in the order of the batches, on all cores that torch may use.

        In processes if there is enough work to pay for starting them, else in threads.
        """
        if self.is_prepared and len(batches) > BATCHES_EACH * self.cores > BATCHES_EACH and can_be_copied():
            return in_processes(search, batches, self.cores)
        return self.workers.in_turn(search, batches)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def cores(self) -> int:
        """The number of cores on which searches run in parallel; a GPU divides its work itself."""
        return torch.get_num_threads() if self.device.type == "cpu" else 1

    @cached_property
    def workers(self) -> Workers:
        return Workers(self.cores)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """The context for computing with the model of `ready`: its precision, or one thread if prepared."""
        if self.is_prepared or self.precision == "int8":  # int8 is never without preparing
            with one_thread():
                yield
        else:
            with one_thread() if self.one_thread_each else nullcontext(), computing_in(self.precision, self.device):
                yield


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
