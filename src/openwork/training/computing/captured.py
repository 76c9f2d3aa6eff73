"""Gradients of batches that have few shapes, captured once for each shape and then replayed (CUDA graphs).

An update of a small model is a thousand operations, which Python calls more slowly than a GPU computes them. A graph
calls them all at once. It computes with the memory that it was captured with: a batch is copied to where the captured
one was, and gradients and losses are found where they were.

The first batch of a shape is computed as usual, which is also the warm-up that capture needs, the second one is
captured. Results are the same, bit by bit: the operations are the same, and dropout begins at the seed of the update.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from openwork.models.interfaces import Packed
from openwork.nn.kernels import gpu
from openwork.nn.masks import Segments
from openwork.training.batches.batch import TrainingBatch
from openwork.training.batches.packing import PackedBatch
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.loss import Objective

MOST = 64  # shapes that are kept; all use the same memory besides their batches
ROOM = 1.2  # free memory that a graph wants, as a multiple of what its warm-up took

Key = tuple[Any, ...]


class Captured:
    """What computes and adds up the gradients of packed batches of few shapes (`packing.FewSizes`)."""

    def __init__(self, objective: Objective, copy: WorkingCopy, device: torch.device) -> None:
        self.objective, self.copy, self.device = objective, copy, device
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)  # the loss that is minimised, and the likelihood
        self.captures = device.type == "cuda"  # until memory is short
        self._scale = torch.ones((), device=device)  # 1 / tokens of the update
        self._warmed_up: dict[Key, int] = {}  # the bytes that a shape's warm-up took
        self._graphs: OrderedDict[Key, _Graph] = OrderedDict()
        self._memory = GraphMemory(device)
        self._places: list[Tensor | None] = [None] * len(copy.own)  # where graphs write gradients
        self._written: dict[Key, list[bool]] = {}  # which weights have a gradient after a batch of a shape

    def takes(self, batch: TrainingBatch) -> bool:
        """Whether a batch is of the kind that comes in few shapes."""
        return isinstance(batch, PackedBatch) and batch.fills_targets and batch.teacher is None

    def begin(self, tokens: int) -> None:
        """The next batches are those of an update with so many target tokens."""
        self.sums.zero_()
        self._scale.fill_(1 / tokens)

    def add(self, batch: PackedBatch, learning: Sequence[bool], *, more: bool) -> None:
        """Computes the gradients of a batch; `more`: on top of those of the batch before, `sums` always."""
        key = (_shape(batch), tuple(learning), more)
        if not more:
            self._lend([True] * len(self._places))  # someone may have freed the gradients between updates
        if key in self._graphs or self._capture(key, batch, learning, more=more):
            self._graphs.move_to_end(key)
            self._graphs[key].replay(batch)
            self._lend(self._written[key])
            return
        with self._memory.measured() as taken:
            self._compute(batch, learning, more=more)
        self._warmed_up[key] = taken[0]
        self._written[key] = [own.grad is not None for own in self.copy.own]
        pairs = zip(self.copy.own, self._places, strict=True)
        self._places = [place if own.grad is None else own.grad for own, place in pairs]

    def forget(self) -> bool:
        """Gives the memory of all graphs back, and makes no more; whether there were any."""
        held, self.captures = bool(self._graphs), False
        self._graphs.clear()
        self._memory.free()
        return held

    def _compute(self, batch: PackedBatch, learning: Sequence[bool], *, more: bool) -> None:
        sums = self.objective(self.copy.model, batch)
        found = self.copy.gradients(sums.smoothed * self._scale, learning)
        self.copy.take([found], more=more)
        self.sums += torch.stack((sums.smoothed.detach().double(), sums.likelihood.double()))

    def _capture(self, key: Key, batch: PackedBatch, learning: Sequence[bool], *, more: bool) -> bool:
        """Captures a shape that has been computed before, if there is memory for it; whether it did."""
        needed = self._warmed_up.get(key)
        has_loss = gpu.is_available(self.device, "loss")  # the formula selects real targets, for which the CPU waits
        if not (self.captures and has_loss) or needed is None or not self._memory.has_room(needed):
            return False
        if any(own.grad is None for own, writes in zip(self.copy.own, self._written[key], strict=True) if writes):
            return False  # what is written for the first time in an update must have a place of its own
        compute = partial(self._compute, learning=learning, more=more)
        self._graphs[key] = _Graph(batch, compute, self._memory.pool)
        if len(self._graphs) > MOST:
            self._graphs.popitem(last=False)
        return True

    def _lend(self, wanted: Sequence[bool]) -> None:
        """Gives these weights the gradients that are at their places, and the others none."""
        for own, place, is_wanted in zip(self.copy.own, self._places, wanted, strict=True):
            own.grad = place if is_wanted else None


class GraphMemory:
    """The memory of graphs: all share it, since no two of them run at once."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._held = 0  # bytes, about
        self._pool: Any = None

    @property
    def pool(self) -> Any:
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        return self._pool

    @contextmanager
    def measured(self) -> Iterator[list[int]]:
        """A list that has, after the block, the most bytes that were taken at once within it."""
        taken = [0]
        if self._device.type != "cuda":
            yield taken
            return
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        yield taken
        taken[0] = torch.cuda.max_memory_allocated(self._device) - before

    def has_room(self, needed: int) -> bool:
        """Whether so many bytes can be taken. What warm-ups have left behind is given back, if it is needed."""
        missing = ROOM * max(0, needed - self._held)
        if torch.cuda.mem_get_info(self._device)[0] < missing:
            torch.cuda.empty_cache()
        if torch.cuda.mem_get_info(self._device)[0] < missing:
            return False
        self._held = max(self._held, needed)
        return True

    def free(self) -> None:
        self._held, self._pool = 0, None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()


class _Graph:
    """The computation of one shape, with memory for a batch of that shape."""

    def __init__(self, batch: PackedBatch, compute: Callable[[PackedBatch], None], pool: Any) -> None:
        self._batch = _copy(batch)
        self._graph = torch.cuda.CUDAGraph()
        # another thread prepares the next batches meanwhile, which is none of the capture's business
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            compute(self._batch)

    def replay(self, batch: PackedBatch) -> None:
        """Computes this batch in place of the captured one."""
        for own, given in zip(_tensors(self._batch), _tensors(batch), strict=True):
            own.copy_(given, non_blocking=True)
        self._graph.replay()


def _tensors(batch: PackedBatch) -> list[Tensor]:
    rows = (batch.source, batch.target_input)
    return [batch.real_targets, *(x for row in rows for x in (row.tokens, row.segments.starts, row.segments.places))]


def _shape(batch: PackedBatch) -> Key:
    """What two batches have in common that are computed alike."""
    longest = (row.segments.maximum_length for row in (batch.source, batch.target_input))
    return (*(tuple(tensor.shape) for tensor in _tensors(batch)), *longest)


def _copy(batch: PackedBatch) -> PackedBatch:
    """The same in memory of its own."""

    def row(given: Packed) -> Packed:
        segments = given.segments
        own = Segments(segments.starts.clone(), segments.places.clone(), segments.maximum_length)
        return Packed(given.tokens.clone(), own)

    return PackedBatch(
        row(batch.source), row(batch.target_input), batch.real_targets.clone(), batch.sentences, batch.source_tokens,
        batch.whole, batch.sizes,
    )  # fmt: skip
