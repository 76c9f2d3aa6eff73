"""Packed batches: the real tokens of a batch in one row a side, so that nothing is computed for padding.

For GPUs, whose attention kernel takes such rows as they are (`nn/kernels/packed.py`). On a CPU a batch costs as much
either way, because the few per cent of padding that batches of like lengths have are spent again on moving rows about.

Tokens and sentences are filled up to round numbers, so that few shapes occur: what a GPU prepared for a shape, memory
or compiled code, is used again. The fillings are short sentences of padding, which no other sees, and empty ones.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.data.batching import Batch
from openwork.machine.precision import PrecisionName
from openwork.models.interfaces import Packed, PackingModel, SequenceModel
from openwork.nn.kernels.gpu import doubled
from openwork.nn.kernels.packed import is_supported
from openwork.nn.masks import Segments
from openwork.training.batches.batch import SoftTokens, TrainingBatch, moved

Layout = Literal["padded", "packed"]


def round_up(count: int, step: int) -> int:
    """The least multiple of `step` that is not below `count`."""
    return -(-count // step) * step


@dataclass(frozen=True)
class RowSizes:
    """The sizes that rows are filled up to: in steps, so that few shapes occur.

    `tokens`: what a row's tokens are a multiple of. `fillers`: sentences of padding; with as many, none of them is
    longer than tokens / fillers + 2.
    """

    tokens: int
    fillers: int

    def sentences(self, count: int) -> int:
        return round_up(count, 64)

    def longest(self, own: int, other: int) -> int:
        """The longest sentence that a kernel expects, from those of this row and of the other side's."""
        return round_up(own, 16)

    fills_targets: ClassVar[bool] = False
    """Whether there is a target for padding too, `NOT_REAL`."""


class FewSizes(RowSizes):
    """So few that the computation of each can be captured (`computing/captured.py`).

    Most batches of a plan have one of a dozen, and about a twentieth of their positions is padding.
    """

    fills_targets = True

    @classmethod
    def of(cls, tokens: int) -> "FewSizes":
        """Those of batches of at most so many tokens on their longer side: eighths of the fullest row."""
        step = round_up(12 * tokens // 95 + 1, 64)  # 8 steps hold the tokens and the sentences of padding
        return cls(step, fillers=step // 12)

    def sentences(self, count: int) -> int:
        return doubled(count, 64)

    def longest(self, own: int, other: int) -> int:
        return doubled(max(own, other), 16)


NOT_REAL = -1  # the target of a position of padding
FINE = RowSizes(128, fillers=32)


@dataclass(eq=False)
class PackedBatch(TrainingBatch):
    """Sentences for one forward pass, one after another. `whole`: where they come from, `sizes`: of the rows."""

    source: Packed
    target_input: Packed
    real_targets: Tensor  # (tokens,) the tokens that should be predicted; with fillings after them if the sizes say so
    sentences: int
    source_tokens: int
    whole: Batch
    sizes: RowSizes
    teacher: SoftTokens | None = None

    def __post_init__(self) -> None:
        self.fills_targets = self.sizes.fills_targets

    @property
    def target_tokens(self) -> int:
        return int(self.whole.target_lengths.sum())

    def hidden(self, model: SequenceModel) -> Tensor:
        assert isinstance(model, PackingModel), "the layout was chosen for a model that packs"
        return model.forward_packed(self.source, self.target_input)[0, : self.real_targets.shape[0]]

    def parts(self, count: int) -> "list[PackedBatch]":
        """The sentences dealt out in turn."""
        count = min(count, self.sentences)
        return [self] if count <= 1 else [self._part(first, count) for first in range(count)]

    def _part(self, first: int, count: int) -> "PackedBatch":
        device = self.real_targets.device
        part = pack(self.whole.dealt(first, count), device, self.sizes)
        if self.teacher is not None:
            mine = np.repeat(np.arange(self.sentences) % count == first, self.whole.target_lengths)
            part.teacher = self.teacher.select(moved(mine, device))
        return part


def pack(batch: Batch, device: torch.device, sizes: RowSizes = FINE) -> PackedBatch:
    """The same batch, packed, on a device."""
    is_target = np.arange(batch.target_output.shape[1]) < batch.target_lengths[:, None]
    is_source = np.arange(batch.source.shape[1]) < batch.source_lengths[:, None]
    longest = int(batch.source_lengths.max()), int(batch.target_lengths.max())
    source = _row(batch.source[is_source], batch.source_lengths, longest[1], device, sizes)
    target_input = _row(batch.target_input[is_target], batch.target_lengths, longest[0], device, sizes)
    targets = batch.target_output[is_target]
    if sizes.fills_targets:
        filling = target_input.tokens.shape[1] - len(targets)
        targets = np.pad(targets, (0, filling), constant_values=NOT_REAL)
    return PackedBatch(
        source=source,
        target_input=target_input,
        real_targets=moved(targets, device),
        sentences=len(batch),
        source_tokens=int(batch.source_lengths.sum()),
        whole=batch,
        sizes=sizes,
    )


def _row(
    tokens: NDArray[np.int64], lengths: NDArray[np.int64], other: int, device: torch.device, sizes: RowSizes
) -> Packed:
    """One row of the sentences, then the sentences of padding, then empty ones. `other`: the other side's longest.

    Each sentence of padding has a token at least, so that on the other side no query of padding is without keys.
    """
    count = sizes.fillers
    size, sentences = round_up(len(tokens) + count, sizes.tokens), sizes.sentences(len(lengths) + count)
    padding, empty = size - len(tokens), sentences - len(lengths) - count
    fillers = (padding + np.arange(count)) // count  # as even as can be, all together the padding
    all_lengths = np.concatenate((lengths, fillers, np.zeros(empty, np.int64)))
    starts = np.concatenate(([0], np.cumsum(all_lengths)))
    places = np.arange(size) - np.repeat(starts[:-1], all_lengths)
    places[len(tokens) :] = 0  # padding reaches no further than the sentences
    row = np.pad(tokens, (0, padding), constant_values=SYMBOL_IDS.pad)[None]
    segments = Segments(
        starts=moved(starts.astype(np.int32), device),
        places=moved(places, device),
        maximum_length=sizes.longest(int(all_lengths.max()), other),
    )
    return Packed(moved(row, device), segments)


def choose_layout(wanted: str, model: SequenceModel, precision: PrecisionName, device: torch.device) -> Layout:
    """`wanted`, or for "auto" packed where a GPU's kernel is there. ConfigError for a model that cannot."""
    problem = packing_problem(model)
    if wanted == "packed" and problem is not None:
        raise ConfigError(
            "training.layout: this model cannot be trained on packed batches",
            why=problem,
            hint='set training.layout = "auto" or "padded"',
            code="C065",
        )
    if wanted == "auto":
        return "packed" if problem is None and precision != "float32" and is_supported(device) else "padded"
    return "packed" if wanted == "packed" else "padded"


def packing_problem(model: SequenceModel) -> str | None:
    """Why the sentences of a batch cannot be in one row; None: they can."""
    if not isinstance(model, PackingModel):
        return msg("a model of this kind reads each sentence in a row of its own")
    return model.packing_problem()
