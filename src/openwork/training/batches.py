"""From the token store to tensors on a device, in the order of the plan."""

from dataclasses import dataclass

import torch
from torch import Tensor

from openwork.data.batching import Batch, BatchPlan, EpochPlan, assemble
from openwork.data.store import TokenStore
from openwork.training.progress import Progress


@dataclass(frozen=True)
class TensorBatch:
    """Sentences for one forward pass, padded on the right; sources and outputs end with the end symbol."""

    source: Tensor  # (batch, source position)
    source_lengths: Tensor  # (batch,)
    target_input: Tensor  # (batch, target position), begins with the start symbol
    real: Tensor  # (tokens,) indices of the real tokens in a flattened (batch, target position)
    real_targets: Tensor  # (tokens,) the tokens that should be foretold there
    sentences: int
    source_tokens: int

    @property
    def target_tokens(self) -> int:
        """Real target tokens, the end symbol included."""
        return self.real_targets.shape[0]


def to_tensors(batch: Batch, device: torch.device) -> TensorBatch:
    """The same batch on a device."""
    output = torch.from_numpy(batch.target_output)
    lengths = torch.from_numpy(batch.target_lengths)
    is_real = torch.arange(output.shape[1])[None, :] < lengths[:, None]
    real = is_real.flatten().nonzero()[:, 0]
    return TensorBatch(
        source=torch.from_numpy(batch.source).to(device),
        source_lengths=torch.from_numpy(batch.source_lengths).to(device, torch.int64),
        target_input=torch.from_numpy(batch.target_input).to(device),
        real=real.to(device),
        real_targets=output.flatten()[real].to(device),
        sentences=output.shape[0],
        source_tokens=int(batch.source_lengths.sum()),
    )


class BatchStream:
    """The endless sequence of training batches; its place is `progress`, so any place is reached at once."""

    def __init__(self, store: TokenStore, plan: BatchPlan, device: torch.device) -> None:
        self.store = store
        self.plan = plan
        self.device = device
        self._last: tuple[int, EpochPlan] | None = None  # the epoch that was asked for last: making its plan costs

    def next(self, progress: Progress) -> TensorBatch:
        """The batch at `progress`, which moves on by one."""
        epoch = self._plan_of(progress.epoch)
        rows = epoch[progress.batch]
        progress.batch += 1
        if progress.batch == len(epoch):
            progress.epoch += 1
            progress.batch = 0
        return to_tensors(assemble(self.store, rows), self.device)

    def _plan_of(self, number: int) -> EpochPlan:
        if self._last is None or self._last[0] != number:
            self._last = number, self.plan.epoch(number)
        return self._last[1]
