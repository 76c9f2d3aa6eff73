"""Numbers on their way to the device that computes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openwork.data.batching import Batch, BatchPlan, assemble
from openwork.data.store import TokenStore
from openwork.models.interfaces import SequenceModel
from openwork.training.progress import Progress


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """The same numbers on a device; on a CPU the very same tensor.

    From pinned memory a GPU fetches them while both sides go on, and uses them in the order in which it was told to;
    torch keeps the memory until the copy is made.
    """
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


BatchT_co = TypeVar("BatchT_co", covariant=True)


@runtime_checkable
class TrainingBatch(Protocol):
    """Sentences for one forward pass."""

    @property
    def real_targets(self) -> Tensor:
        """The target tokens (tokens,) that should be predicted, end symbols included."""
        ...

    @property
    def target_tokens(self) -> int:
        """Their number."""
        ...

    @property
    def source_tokens(self) -> int:
        """Real source tokens, end symbols included."""
        ...

    @property
    def sentences(self) -> int: ...

    def hidden(self, model: SequenceModel) -> Tensor:
        """Vectors (tokens, width) before the output projection, one for each of `real_targets`."""
        ...

    def parts(self, count: int) -> "Sequence[TrainingBatch]":
        """The sentences dealt out to at most `count` batches."""
        ...


@runtime_checkable
class Stream(Protocol[BatchT_co]):
    """The endless sequence of a training's batches."""

    def next(self, progress: Progress) -> BatchT_co:
        """The batch at `progress`, which moves on by one."""
        ...


@dataclass(frozen=True)
class TensorBatch:
    """Sentences for one forward pass, padded on the right; sources and outputs end with the end symbol."""

    source: Tensor  # (batch, source position)
    source_lengths: Tensor  # (batch,)
    target_input: Tensor  # (batch, target position), begins with the start symbol
    real: Tensor  # (tokens,) indices of the real tokens in a flattened (batch, target position)
    real_targets: Tensor  # (tokens,) the tokens that should be predicted there
    sentences: int
    source_tokens: int

    @property
    def target_tokens(self) -> int:
        """Real target tokens, the end symbol included."""
        return self.real_targets.shape[0]

    def hidden(self, model: SequenceModel) -> Tensor:
        """Vectors (tokens, width) before the output projection, at the real target tokens."""
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
        )


def to_tensors(batch: Batch, device: torch.device) -> TensorBatch:
    """The same batch on a device."""
    output = torch.from_numpy(batch.target_output)
    lengths = torch.from_numpy(batch.target_lengths)
    is_real = torch.arange(output.shape[1])[None, :] < lengths[:, None]
    real = is_real.flatten().nonzero()[:, 0]
    return TensorBatch(
        source=moved(torch.from_numpy(batch.source), device),
        source_lengths=moved(torch.from_numpy(batch.source_lengths), device),
        target_input=moved(torch.from_numpy(batch.target_input), device),
        real=moved(real, device),
        real_targets=moved(output.flatten()[real], device),
        sentences=output.shape[0],
        source_tokens=int(batch.source_lengths.sum()),
    )


class BatchStream:
    """The endless sequence of training batches; its place is `progress`, so any place is reached at once.

    `arrange` lays the sentences of a batch out on the device: padded, or packed (`packing.py`).
    """

    def __init__(
        self,
        store: TokenStore,
        plan: BatchPlan,
        device: torch.device,
        arrange: Callable[[Batch, torch.device], TrainingBatch] = to_tensors,
    ) -> None:
        self.store = store
        self.plan = plan
        self.device = device
        self.arrange = arrange
        self._last: tuple[int, Sequence[NDArray[np.int64]]] | None = (
            None  # the epoch that was asked for last: making its plan costs
        )

    def next(self, progress: Progress) -> TrainingBatch:
        """The batch at `progress`, which moves on by one."""
        epoch = progress.epoch  # of this batch: the last one of an epoch moves on to the next
        return self.arrange(assemble(self.store, self.rows(progress), epoch), self.device)

    def rows(self, progress: Progress) -> NDArray[np.int64]:
        """Which pairs of the store the batch at `progress` holds; it moves on by one."""
        epoch = self.epoch(progress.epoch)
        rows = epoch[progress.batch]
        progress.batch += 1
        if progress.batch == len(epoch):
            progress.epoch += 1
            progress.batch = 0
        return rows

    def epoch(self, number: int) -> Sequence[NDArray[np.int64]]:
        """The plan of an epoch, made once as long as no other one is asked for."""
        if self._last is None or self._last[0] != number:
            self._last = number, self.plan.epoch(number)
        return self._last[1]
