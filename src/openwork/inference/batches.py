"""Batches for inference: texts of like lengths together, within a budget of tokens, as padded ids."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS

LONGEST = 1024  # tokens of a text with its end symbol; a longer one is cut there and flagged
OnProgress = Callable[[int], None]
"""Called with the number of texts that are done since the last call."""


def ignore_progress(count: int) -> None:
    """The `OnProgress` of callers who do not watch."""


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


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (row, position) with end symbols, padded on the right, and their lengths (row)."""
    lengths = [len(row) + 1 for row in rows]
    longest = max(lengths)
    ids = [[*row, SYMBOL_IDS.end, *[SYMBOL_IDS.pad] * (longest - len(row) - 1)] for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(lengths, device=device)
