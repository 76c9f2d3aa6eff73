"""Hypotheses that share what they wrote: nothing is moved when a search reorders, doubles or drops them.

Each row of a step writes its keys and values where it stands in that step. A table says for each row where those of
its earlier positions stand; to select rows is to select columns of the table. The framework's operations would have to
gather the keys by it, which costs what moving them costs; step.cpp follows it.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.inference.prepared.caches import Past, PreparedState


@dataclass(frozen=True)
class SharingState(PreparedState):
    """As PreparedState, but `rows` is that table (position, row); None: each row has stood where it stands."""

    def after_step(self, past: Past, rows: int = 0) -> "SharingState":
        """The state when `rows` rows have written the next position into `past`, each at its own place."""
        table = None if self.rows is None else torch.cat([self.rows, torch.arange(rows)[None]])
        return replace(self, past=past, position=self.position + 1, rows=table)

    def _with_rows(self, rows: Int[Tensor, "rows"]) -> "SharingState":
        table = rows.expand(self.position, -1) if self.rows is None else self.rows.index_select(1, rows)
        return replace(self, rows=table)


def with_room(past: Past, position: int, rows: int) -> Past:
    """A past in which so many rows can write the position: this one, or a copy."""
    free = past.with_room(position)
    if rows <= free.rows:
        return free
    return Past([(_wider(keys, position, rows), _wider(values, position, rows)) for keys, values in free.buffers],
                position)  # fmt: skip


def _wider(buffer: Tensor, positions: int, rows: int) -> Tensor:
    made = buffer.new_empty(buffer.shape[0], rows, buffer.shape[2])
    made[:positions, : buffer.shape[1]] = buffer[:positions]
    return made
