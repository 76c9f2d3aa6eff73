"""Batches as tensors on a device, from the token store, in the order of the plan, and prepared ahead of their use.

While an update is computed, a thread assembles the next batches and sends them to the device. The stream decides which
batches come, and in which order: the thread goes ahead with a place of its own, and the run's place, which checkpoints
keep, moves on only when a batch is taken.
"""

import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openwork.data.batching import Batch, BatchPlan, assemble
from openwork.data.soft_targets import SoftTargets
from openwork.data.store import TokenStore
from openwork.machine.device import on_device
from openwork.machine.processes import ALONE, Processes
from openwork.models.interfaces import SequenceModel
from openwork.nn.normalisation import nothing_counts
from openwork.training.progress import Progress

Ids = NDArray[np.int64]


def moved(numbers: NDArray[Any], device: torch.device) -> Tensor:
    """The same numbers on a device."""
    return on_device(torch.from_numpy(numbers), device)


class SoftTokens(NamedTuple):
    """A teacher's largest probabilities for the real targets of a batch, in their order."""

    ids: Tensor  # (tokens, top)
    probabilities: Tensor  # (tokens, top), which add up to 1 for each token

    def select(self, tokens: Tensor) -> "SoftTokens":
        """Those of some tokens (a mask, or indices)."""
        return SoftTokens(self.ids[tokens], self.probabilities[tokens])


class TrainingBatch(ABC):
    """Sentences for one forward pass, however they are laid out."""

    real_targets: Tensor  # (tokens,) the target tokens that should be predicted, end symbols included
    teacher: SoftTokens | None = None  # what a teacher predicts there
    fills_targets: bool = False  # whether negative ones follow, of padding, which do not count
    sentences: int
    source_tokens: int  # real ones, end symbols included

    @property
    def target_tokens(self) -> int:
        """Real target tokens, end symbols included."""
        return self.real_targets.shape[0]

    @abstractmethod
    def hidden(self, model: SequenceModel) -> Tensor:
        """Vectors (tokens, width) before the output projection, one for each of `real_targets`."""

    @abstractmethod
    def parts(self, count: int) -> "Sequence[TrainingBatch]":
        """The sentences dealt out to at most `count` batches."""


@runtime_checkable
class Stream(Protocol):
    """The endless sequence of a training's batches."""

    def next(self, progress: Progress) -> TrainingBatch:
        """The batch at `progress`, which moves on by one."""
        ...


@dataclass(eq=False)
class TensorBatch(TrainingBatch):
    """Sentences for one forward pass, padded on the right; sources and outputs end with the end symbol."""

    source: Tensor  # (batch, source position), or numbers (batch, source position, features)
    source_lengths: Tensor  # (batch,)
    target_input: Tensor  # (batch, target position), begins with the start symbol
    real: Tensor  # (tokens,) indices of the real tokens in a flattened (batch, target position)
    real_targets: Tensor  # (tokens,) the tokens that should be predicted there
    sentences: int
    source_tokens: int
    teacher: SoftTokens | None = None

    @classmethod
    def of(
        cls,
        device: torch.device,
        source: NDArray[Any],
        source_lengths: Ids,
        target_input: Ids,
        real: Ids,
        real_targets: Ids,
    ) -> "TensorBatch":
        tensors = (moved(numbers, device) for numbers in (source, source_lengths, target_input, real, real_targets))
        return cls(*tensors, sentences=len(source), source_tokens=int(source_lengths.sum()))

    def hidden(self, model: SequenceModel) -> Tensor:
        vectors = model(self.source, self.source_lengths, self.target_input)
        return vectors.flatten(0, 1).index_select(0, self.real)

    def parts(self, count: int) -> list["TensorBatch"]:
        """The sentences dealt out in turn, so that `count` parts (fewer, if they are) are equally long and large."""
        count = min(count, self.sentences)
        return [self] if count <= 1 else [self._part(first, count) for first in range(count)]

    def _part(self, first: int, count: int) -> "TensorBatch":
        sentence, position = self.real // self.target_input.shape[1], self.real % self.target_input.shape[1]
        mine = sentence % count == first
        lengths = self.source_lengths[first::count]
        longest = int(position[mine].max()) + 1
        return TensorBatch(
            source=self.source[first::count, : int(lengths.max())],
            source_lengths=lengths,
            target_input=self.target_input[first::count, :longest],
            real=sentence[mine] // count * longest + position[mine],
            real_targets=self.real_targets[mine],
            sentences=lengths.shape[0],
            source_tokens=int(lengths.sum()),
            teacher=None if self.teacher is None else self.teacher.select(mine),
        )


class NoSentences(TrainingBatch):
    """The share of a process in a batch of fewer sentences than processes.

    Where all processes compute in step it passes through the model what the first process has, of which nothing counts.
    """

    sentences = 0
    source_tokens = 0

    def __init__(self, stand_in: TrainingBatch) -> None:
        self._stand_in = stand_in
        self.real_targets = stand_in.real_targets[:0]

    def hidden(self, model: SequenceModel) -> Tensor:
        with nothing_counts():
            return self._stand_in.hidden(model)[:0]

    def parts(self, count: int) -> list[TrainingBatch]:
        return []


def to_tensors(batch: Batch, device: torch.device) -> TensorBatch:
    """The same batch on a device, padded."""
    is_real = np.arange(batch.target_output.shape[1]) < batch.target_lengths[:, None]
    real, targets = is_real.ravel().nonzero()[0], batch.target_output[is_real]
    return TensorBatch.of(device, batch.source, batch.source_lengths, batch.target_input, real, targets)


@dataclass(frozen=True)
class WithTeacher:
    """Batches as `arrange` makes them, with the teacher's probabilities for each real target.

    Both layouts have the real targets in one order: sentence after sentence.
    """

    arrange: Callable[[Batch, torch.device], TrainingBatch]
    soft: SoftTargets

    def __call__(self, batch: Batch, device: torch.device) -> TrainingBatch:
        made = self.arrange(batch, device)
        ids, probabilities = self.soft.of(batch.rows)
        made.teacher = SoftTokens(moved(ids, device), moved(probabilities, device))
        return made


@dataclass(eq=False)
class BatchStream:
    """The endless sequence of training batches; its place is `progress`, so any place is reached at once.

    `arrange` lays the sentences of a batch out on the device: padded, or packed (`packing.py`). The plan is the same on
    all `processes`; each of them assembles its share of every batch.
    """

    store: TokenStore
    plan: BatchPlan
    device: torch.device
    arrange: Callable[[Batch, torch.device], TrainingBatch] = to_tensors
    processes: Processes = ALONE
    _last: tuple[int, Sequence[Ids]] | None = None  # the epoch asked for last: making its plan costs

    def next(self, progress: Progress) -> TrainingBatch:
        epoch = progress.epoch  # of this batch: the last one of an epoch moves on to the next
        return self.batch(self.rows(progress), epoch)

    def batch(self, rows: Ids, epoch: int = 0) -> TrainingBatch:
        """This process's share of the pairs in these rows of the store, as a batch."""
        own = rows[self.processes.rank :: self.processes.count]
        batch = self.arrange(assemble(self.store, own if len(own) else rows[:1], epoch), self.device)
        return batch if len(own) else NoSentences(batch)

    def rows(self, progress: Progress) -> Ids:
        """Which pairs of the store the batch at `progress` holds; it moves on by one."""
        epoch = self.epoch(progress.epoch)
        rows = epoch[progress.batch]
        progress.batch += 1
        if progress.batch == len(epoch):
            progress.epoch += 1
            progress.batch = 0
        return rows

    def epoch(self, number: int) -> Sequence[Ids]:
        """The plan of an epoch, made once as long as no other one is asked for."""
        if self._last is None or self._last[0] != number:
            self._last = number, self.plan.epoch(number)
        return self._last[1]


SWITCH = 5e-4  # seconds after which the thread lets the training go on, which starts its updates in about as long

Place = tuple[int, int]
"""Epoch and batch."""


class PrefetchedStream:
    """The batches of another stream, of which up to `ahead` are prepared before they are asked for."""

    def __init__(self, stream: Stream, ahead: int) -> None:
        self._stream = stream
        self._ahead = ahead
        self._next: Place | None = None  # of the first batch that is prepared
        self._prepared: deque[Future[tuple[TrainingBatch, Place]]] = deque()

    def next(self, progress: Progress) -> TrainingBatch:
        """The batch at `progress`, which moves on by one; an error of the thread is raised here."""
        if self._next != (progress.epoch, progress.batch):  # the first one, or the run was set to another place
            self.close()
            self._thread = ThreadPoolExecutor(1, "openwork-prefetch")
            self._thread_progress = Progress(epoch=progress.epoch, batch=progress.batch)
        while len(self._prepared) <= self._ahead:
            self._prepared.append(self._thread.submit(self._prepare, self._thread_progress))
        self._next = None  # where this batch fails
        batch, self._next = self._prepared.popleft().result()
        progress.epoch, progress.batch = self._next
        return batch

    def _prepare(self, progress: Progress) -> tuple[TrainingBatch, Place]:
        """A batch, and the place of the one after it."""
        return self._stream.next(progress), (progress.epoch, progress.batch)

    def close(self) -> None:
        """Ends the thread; a stream that is used again starts a new one."""
        if self._prepared:
            self._thread.shutdown(cancel_futures=True)
        self._prepared.clear()
        self._next = None


@contextmanager
def prefetched(stream: Stream, ahead: int) -> Iterator[Stream]:
    """The stream with up to `ahead` batches prepared while the block runs (0: itself); its end ends the thread."""
    if ahead == 0:
        yield stream
        return
    ready, before = PrefetchedStream(stream, ahead), sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield ready
    finally:
        sys.setswitchinterval(before)
        ready.close()
