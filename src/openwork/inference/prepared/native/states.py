"""States of a search in which keys and values stay where they were written."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.inference.prepared.caches import Past, PreparedState


@dataclass(frozen=True)
class SharingState(PreparedState):
    """A PreparedState in which nothing is moved when a search reorders, doubles or drops rows.

    Each row of a step writes its keys and values at its own place of that step. `rows` is a table (position, row) of
    the places of each row's earlier positions; selecting rows selects columns of the table. None: each row has always
    had its place. `sentences` has the place of each row's memory, and `each` is 1. Torch would have to gather the keys,
    which costs as much as moving them; step.cpp follows the tables.
    """

    def after_rows(self, past: Past, rows: int) -> "SharingState":
        """The state after `rows` rows have written the next position into `past`, each at its own place."""
        table = None if self.rows is None else torch.cat([self.rows, torch.arange(rows)[None]])
        return replace(self, past=past, position=self.position + 1, rows=table)

    def alone(self) -> "SharingState":
        """The state of one row with its keys, values and memory in buffers of their own."""
        if self.rows is None:
            return replace(super().alone(), rows=None)  # type: ignore[return-value]
        places, first = torch.arange(self.position), torch.zeros(1, dtype=torch.int64)
        buffers = [tuple(part[places, self.rows[:, 0]][:, None] for part in one) for one in self.past.buffers]
        past = Past(buffers, self.position).select(None, self.position)  # type: ignore[arg-type]
        memory = self.memory.select(first if self.sentences is None else self.sentences)
        return SharingState(memory, past, position=self.position)

    def _with_sentences(self, rows: Int[Tensor, "rows"]) -> "SharingState":
        return replace(self, sentences=rows if self.sentences is None else self.sentences[rows])

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
