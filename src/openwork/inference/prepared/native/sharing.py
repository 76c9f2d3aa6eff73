"""Caches that hypotheses share: nothing is moved when a search reorders, doubles or drops rows.

Each row of a step writes its keys and values at its own place of that step. A table lists for each row the places of
its earlier positions; selecting rows selects columns of the table. Torch would have to gather the keys, which costs as
much as moving them; step.cpp follows the table.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.inference.prepared.caches import Past, PreparedState


@dataclass(frozen=True)
class SharingState(PreparedState):
    """A PreparedState whose `rows` is that table (position, row); None: each row has always had its place."""

    def after_step(self, past: Past, rows: int = 0) -> "SharingState":
        """The state after `rows` rows have written the next position into `past`, each at its own place."""
        table = None if self.rows is None else torch.cat([self.rows, torch.arange(rows)[None]])
        return replace(self, past=past, position=self.position + 1, rows=table)

    def _with_rows(self, rows: Int[Tensor, "rows"]) -> "SharingState":
        table = rows.expand(self.position, -1) if self.rows is None else self.rows.index_select(1, rows)
        return replace(self, rows=table)


def with_room(past: Past, position: int, rows: int) -> Past:
    """A past in which so many rows can write the position: this one or a copy."""
    free = past.with_room(position)
    if rows <= free.rows:
        return free
    return Past([(_wider(keys, position, rows), _wider(values, position, rows)) for keys, values in free.buffers],
                position)  # fmt: skip


def _wider(buffer: Tensor, positions: int, rows: int) -> Tensor:
    made = buffer.new_empty(buffer.shape[0], rows, buffer.shape[2])
    made[:positions, : buffer.shape[1]] = buffer[:positions]
    return made
