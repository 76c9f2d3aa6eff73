"""Caches of a prepared decoder: keys and values that are written in place and moved only when that pays.

A search drops rows at nearly every step and reorders beams at each. Moving all keys and values every time costs more
than attention. So the buffers stay where they are, and a state lists their live rows until fewer than three quarters
are alive. The memory of a sentence is held once for all its hypotheses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

ROOM = 32  # positions that a buffer grows by
ALIVE = 0.75  # the least share of live rows in a buffer; with fewer they are copied together
HIDDEN = -1e30  # a score that leaves no weight, and no NaN in a sentence of padding alone
VECTOR = 16  # numbers that the processor takes at once


class Past:
    """The keys and values (position, row, width) of past positions, for each layer, with space for more."""

    def __init__(self, buffers: list[tuple[Tensor, Tensor]], written: int) -> None:
        self.buffers = buffers
        self.written = written  # positions that a state has filled

    @property
    def rows(self) -> int:
        """Rows in the buffers."""
        return self.buffers[0][0].shape[1]

    def with_room(self, position: int) -> "Past":
        """A past with `position` free: this one, unless it is full or another state has continued from here."""
        if self.written == position < self.buffers[0][0].shape[0]:
            return self
        return self._copy(position, None)

    def select(self, rows: Int[Tensor, "rows"], positions: int) -> "Past":
        """The first positions of the given rows."""
        return self._copy(positions, rows)

    def _copy(self, positions: int, rows: Tensor | None) -> "Past":
        # a multiple, so that successive buffers have one size and reuse their pages
        room = (positions // ROOM + 1) * ROOM
        return Past([(_copied(k, positions, room, rows), _copied(v, positions, room, rows)) for k, v in self.buffers],
                    positions)  # fmt: skip


def _copied(buffer: Tensor, positions: int, room: int, rows: Tensor | None) -> Tensor:
    count = buffer.shape[1] if rows is None else rows.shape[0]
    made = buffer.new_empty(room, count, buffer.shape[2])
    if rows is None:
        made[:positions] = buffer[:positions]
    else:
        torch.index_select(buffer[:positions], 1, rows, out=made[:positions])
    return made


@dataclass(frozen=True)
class PreparedMemory:
    """The encoder's output as keys and values (sentence, head, source, width) of each layer, and the bias (sentence,
    head, 1, source) that masks the padding.

    A short source is padded to the vector width of the processor: a softmax over fewer positions is much slower.
    """

    layers: Sequence[tuple[Tensor, Tensor]]
    bias: Tensor
    lengths: Tensor  # of each source (sentence)
    size: int  # positions of the source without that padding

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.bias.shape[0]

    def select(self, sentences: Int[Tensor, "sentences"]) -> "PreparedMemory":
        """The given sentences."""
        layers = [(key.index_select(0, sentences), value.index_select(0, sentences)) for key, value in self.layers]
        bias, lengths = (whole.index_select(0, sentences) for whole in (self.bias, self.lengths))
        return PreparedMemory(layers, bias, lengths, self.size)


def padded_size(size: int) -> int:
    """At least the vector width of the processor."""
    return max(size, VECTOR)


def stay(places: Int[Tensor, "chosen"], held: int) -> bool:
    """Whether rows at these places of a buffer of `held` can stay: in order, once each, and enough of them."""
    return places.shape[0] >= ALIVE * held and bool((places[1:] > places[:-1]).all())


@dataclass(frozen=True)
class PreparedState:
    """The sentences under search, and `each` rows of each, next to each other.

    `sentences` and `rows` are their places in the memory and in the past; None: all, in order.
    """

    memory: PreparedMemory
    past: Past
    each: int = 1
    sentences: Tensor | None = None
    rows: Tensor | None = None
    position: int = 0

    def select(self, rows: Int[Tensor, "rows"]) -> "PreparedState":
        """The given rows, in the given order; a row may come several times."""
        return self._with_sentences(rows)._with_rows(rows)

    def after_step(self, past: Past) -> "PreparedState":
        """The state when the next position is written into `past`."""
        return replace(self, past=past, position=self.position + 1)

    def _with_sentences(self, rows: Tensor) -> "PreparedState":
        if self.memory.sentences == 1 and self.sentences is None:  # all rows are that sentence's
            return replace(self, each=rows.shape[0])
        owners, counts = torch.unique_consecutive(rows // self.each, return_counts=True)
        each = int(counts[0]) if counts.numel() else 1
        if bool((counts != each).any()):  # unequal numbers of rows: each row is then a sentence of its own
            owners, each = rows // self.each, 1
        places = owners if self.sentences is None else self.sentences[owners]
        if stay(places, self.memory.sentences):
            return replace(self, each=each, sentences=None if places.shape[0] == self.memory.sentences else places)
        return replace(self, each=each, memory=self.memory.select(places), sentences=None)

    def _with_rows(self, rows: Tensor) -> "PreparedState":
        places = rows if self.rows is None else self.rows[rows]
        if stay(places, self.past.rows):
            return replace(self, rows=None if places.shape[0] == self.past.rows else places)
        return replace(self, past=self.past.select(places, self.position), rows=None)
