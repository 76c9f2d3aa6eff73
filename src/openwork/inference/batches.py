"""Batches for inference: texts of like lengths together, within a budget of tokens, as padded ids."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openwork.base.limits import LENGTH
from openwork.base.sources import NumberForm, SourceEncoder
from openwork.base.symbols import SYMBOL_IDS
from openwork.data.batching import padded_numbers

LONGEST = 1024  # tokens of a text with its end symbol; a longer one is cut there and flagged
SHARES = 4  # a shrinking batch has at most this share of the tokens that are left


def batches(lengths: Mapping[int, int], tokens: int, *, least: int | None = None) -> Iterator[list[int]]:
    """The keys of `lengths` in batches of at most `tokens` padded positions and at least one key, longest first.

    The longest come first, so that too little memory shows at once. With `least` the batches shrink towards the end,
    down to so many tokens, so that workers who share them finish together. The number of workers does not matter: a
    batch is the same for any.
    """
    left = sum(lengths.values())
    order = sorted(lengths, key=lambda key: -lengths[key])
    first = 0
    while first < len(order):
        budget = tokens if least is None else min(tokens, max(left // SHARES, least))
        batch = order[first : first + max(1, budget // lengths[order[first]])]
        yield batch
        first += len(batch)
        left -= sum(lengths[key] for key in batch)


class IdBatches:
    """Makes batches of rows of ids.

    `ends`: positions that a source gets besides its own. `longest`: positions, these included, after which it is cut.
    """

    ends, longest = 1, LONGEST

    def padded(self, rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
        return padded(rows, device)


class NumberBatches:
    """Makes batches of arrays of numbers (position, features) of one form; their encoder has bounded their lengths."""

    ends, longest = 0, LENGTH

    def __init__(self, form: NumberForm) -> None:
        self.form = form

    def padded(self, rows: Sequence[NDArray[Any]], device: torch.device) -> tuple[Tensor, Tensor]:
        lengths = np.array([len(row) for row in rows], np.int64)
        numbers = padded_numbers(self.form.read(np.concatenate(rows)), lengths)
        return torch.from_numpy(numbers).to(device), torch.from_numpy(lengths).to(device)


SourceBatches = IdBatches | NumberBatches


def batches_of(encoder: SourceEncoder) -> SourceBatches:
    """How what this encoder gives comes into a batch."""
    return IdBatches() if encoder.numbers is None else NumberBatches(encoder.numbers)


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (row, position) with end symbols, padded on the right, and their lengths (row)."""
    lengths = np.array([len(row) + 1 for row in rows], np.int64)
    ids = np.full((len(rows), int(lengths.max())), SYMBOL_IDS.pad, np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None] - 1] = np.fromiter(chain.from_iterable(rows), np.int64)
    ids[np.arange(len(rows)), lengths - 1] = SYMBOL_IDS.end
    return torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device)
