"""What a prepared decoder needs again: written in place and moved only when that pays, and yet never changed.

A search drops rows at nearly every step and reorders beams at each. Moving all keys and values every time costs more
than attending to them. So the buffers stay where they are and a state says which of their rows are alive, until a
quarter of them is not; and the memory of a sentence stands there once, however many hypotheses ask it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

ROOM = 32  # positions that a buffer grows by
ALIVE = 0.75  # the least share of a buffer's rows that must be alive; with fewer, these move together
HIDDEN = -1e30  # a score that leaves no weight, yet is a number: a sentence of nothing but padding gives no NaN
VECTOR = 16  # numbers that the processor takes at once


class Past:
    """The keys and values (position, row, width) of the positions so far, for each layer, with room for more."""

    def __init__(self, buffers: list[tuple[Tensor, Tensor]], written: int) -> None:
        self.buffers = buffers
        self.written = written  # positions that some state has filled already

    @property
    def rows(self) -> int:
        """Rows that the buffers hold."""
        return self.buffers[0][0].shape[1]

    def with_room(self, position: int) -> "Past":
        """A past whose place `position` is free: this one, unless it is full or another state has gone on from here."""
        if self.written == position < self.buffers[0][0].shape[0]:
            return self
        return self._copy(position, None)

    def select(self, rows: Int[Tensor, "rows"], positions: int) -> "Past":
        """The first positions of the given rows."""
        return self._copy(positions, rows)

    def _copy(self, positions: int, rows: Tensor | None) -> "Past":
        # a multiple, so that buffers of successive steps are of one size and their pages are used again
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
    head, 1, source) that hides the padding.

    A short source is filled up to what the processor takes at once: a softmax over fewer is much slower.
    """

    layers: Sequence[tuple[Tensor, Tensor]]
    bias: Tensor
    lengths: Tensor  # of each source (sentence)
    size: int  # positions of the source without that filling

    @property
    def sentences(self) -> int:
        """How many it holds."""
        return self.bias.shape[0]

    def select(self, sentences: Int[Tensor, "sentences"]) -> "PreparedMemory":
        """The given sentences."""
        layers = [(key.index_select(0, sentences), value.index_select(0, sentences)) for key, value in self.layers]
        bias, lengths = (whole.index_select(0, sentences) for whole in (self.bias, self.lengths))
        return PreparedMemory(layers, bias, lengths, self.size)


def padded_size(size: int) -> int:
    """At least as many positions as the processor takes numbers at once."""
    return max(size, VECTOR)


def stay(places: Int[Tensor, "chosen"], held: int) -> bool:
    """Whether rows at these places of a buffer of `held` are better left there: in order, once each, and enough."""
    return places.shape[0] >= ALIVE * held and bool((places[1:] > places[:-1]).all())


@dataclass(frozen=True)
class PreparedState:
    """The sentences that are translated and the rows of each, `each` of them, next to each other.

    `sentences` and `rows` say where these stand in the memory and in the past; None: they are all there is, in order.
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
