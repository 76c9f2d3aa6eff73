"""Packed batches: the real tokens of a batch in one row a side, so that nothing is computed for padding.

For GPUs, whose attention kernel takes such rows as they are (`nn/kernels/packed.py`). On a CPU a batch costs as much
either way, because the few per cent of padding that batches of like lengths have are spent again on moving rows about.

Tokens and sentences are filled up to round numbers, so that few shapes occur: what a GPU prepared for a shape, memory
or compiled code, is used again. The fillings are short sentences of padding, which no other sees, and empty ones.
"""

from dataclasses import dataclass
from typing import Literal

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
from openwork.nn.kernels.packed import is_supported
from openwork.nn.masks import Segments
from openwork.training.batches.batch import SoftTokens, TrainingBatch, moved

TOKENS, SENTENCES, LENGTH = 128, 64, 16  # a row's tokens, its sentences and the longest of them are multiples of these
FILLERS = 32  # sentences of padding; with as many, none of them is longer than 5 tokens

Layout = Literal["padded", "packed"]


@dataclass(eq=False)
class PackedBatch(TrainingBatch):
    """Sentences for one forward pass, one after another."""

    source: Packed
    target_input: Packed
    real_targets: Tensor  # (tokens,) the tokens that should be predicted
    sentences: int
    source_tokens: int
    teacher: SoftTokens | None = None

    def hidden(self, model: SequenceModel) -> Tensor:
        assert isinstance(model, PackingModel), "the layout was chosen for a model that packs"
        return model.forward_packed(self.source, self.target_input)[0, : self.target_tokens]

    def parts(self, count: int) -> "list[PackedBatch]":
        """Itself: a row is computed as a whole."""
        return [self]


def pack(batch: Batch, device: torch.device) -> PackedBatch:
    """The same batch, packed, on a device."""
    is_target = np.arange(batch.target_output.shape[1]) < batch.target_lengths[:, None]
    is_source = np.arange(batch.source.shape[1]) < batch.source_lengths[:, None]
    return PackedBatch(
        source=_row(batch.source[is_source], batch.source_lengths, device),
        target_input=_row(batch.target_input[is_target], batch.target_lengths, device),
        real_targets=moved(batch.target_output[is_target], device),
        sentences=len(batch),
        source_tokens=int(batch.source_lengths.sum()),
    )


def _row(tokens: NDArray[np.int64], lengths: NDArray[np.int64], device: torch.device) -> Packed:
    """One row of the sentences, then the sentences of padding, then empty ones.

    Each sentence of padding has a token at least, so that on the other side no query of padding is without keys.
    """
    size, sentences = round_up(len(tokens) + FILLERS, TOKENS), round_up(len(lengths) + FILLERS, SENTENCES)
    padding, empty = size - len(tokens), sentences - len(lengths) - FILLERS
    fillers = (padding + np.arange(FILLERS)) // FILLERS  # as even as can be, all together the padding
    all_lengths = np.concatenate((lengths, fillers, np.zeros(empty, np.int64)))
    starts = np.concatenate(([0], np.cumsum(all_lengths)))
    places = np.arange(size) - np.repeat(starts[:-1], all_lengths)
    places[len(tokens) :] = 0  # padding reaches no further than the sentences
    row = np.pad(tokens, (0, padding), constant_values=SYMBOL_IDS.pad)[None]
    segments = Segments(
        starts=moved(starts.astype(np.int32), device),
        places=moved(places, device),
        maximum_length=round_up(int(all_lengths.max()), LENGTH),
    )
    return Packed(moved(row, device), segments)


def round_up(count: int, step: int) -> int:
    """The least multiple of `step` that is not below `count`."""
    return -(-count // step) * step


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
