"""What a training asks of its batches, whichever way they are laid out, and of the stream that they come from."""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor

from openwork.models.interfaces import SequenceModel
from openwork.training.progress import Progress

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
