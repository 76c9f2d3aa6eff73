"""Caches of a prepared decoder: keys and values that are written in place and moved only when that pays.

A search drops rows at nearly every step and reorders beams at each. Moving all keys and values every time costs more
than attention. So the buffers stay where they are, and a state lists their live rows until fewer than three quarters
are alive. The memory of a sentence is held once for all its hypotheses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
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
        return self.buffers[0][0].shape[1]

    @property
    def room(self) -> int:
        """The positions there is space for."""
        return self.buffers[0][0].shape[0]

    def with_room(self, position: int, count: int = 1) -> "Past":
        """A past with `count` positions free from `position` on: this one, unless it is full or another state has
        continued from here."""
        if self.written == position and position + count <= self.room:
            return self
        return self.select(None, position, count)

    def select(self, rows: Int[Tensor, "rows"] | None, positions: int, more: int = 1) -> "Past":
        """A copy of the first positions of the given rows, or of all rows, with space for `more`."""
        # a multiple, so that successive buffers have one size and reuse their pages
        room = ((positions + more - 1) // ROOM + 1) * ROOM
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
    """The encoder's output as keys and values (sentence, head, source, width) of each layer."""

    layers: Sequence[tuple[Tensor, Tensor]]
    lengths: Tensor  # of each source (sentence)
    size: int  # positions of the longest source

    @property
    def sentences(self) -> int:
        return self.lengths.shape[0]

    def select(self, sentences: Int[Tensor, "sentences"]) -> "PreparedMemory":
        layers = [(key.index_select(0, sentences), value.index_select(0, sentences)) for key, value in self.layers]
        return replace(self, layers=layers, lengths=self.lengths.index_select(0, sentences))


@dataclass(frozen=True)
class MaskedMemory(PreparedMemory):
    """A memory with the bias (sentence, head, 1, source) that masks the padding.

    A short source is padded to the vector width of the processor: a softmax over fewer positions is much slower.
    """

    bias: Tensor

    def select(self, sentences: Int[Tensor, "sentences"]) -> "MaskedMemory":
        chosen = super().select(sentences)
        return replace(self, layers=chosen.layers, lengths=chosen.lengths, bias=self.bias.index_select(0, sentences))


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

    def after_step(self, past: Past, count: int = 1) -> "PreparedState":
        """The state when the next `count` positions are written into `past`."""
        return replace(self, past=past, position=self.position + count)

    def alone(self) -> "PreparedState":
        """The state of one row with its keys, values and memory in buffers of their own."""
        if self.rows is None and self.sentences is None and self.past.rows == self.memory.sentences == 1:
            return self
        first = torch.zeros(1, dtype=torch.int64)
        memory = self.memory.select(first if self.sentences is None else self.sentences)
        past = self.past.select(first if self.rows is None else self.rows, self.position)
        return PreparedState(memory, past, position=self.position)

    def cut(self, position: int) -> "PreparedState":
        """The state as it was before this position; what came after it is written over, so no other state may go on
        from there."""
        self.past.written = position
        return replace(self, position=position)

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


FEW_POSITIONS = 8  # up to so many, multiplying and adding up beats small matrix products


# Attention of one query a row in a step of a search: equation 1 without masks and without copies. The queries are
# already multiplied by 1 / sqrt(d_k): `layers.py` puts it into the weights.


def attend_to_past(
    query: Float[Tensor, "rows queries_width"],
    key: Float[Tensor, "position rows queries_width"],
    value: Float[Tensor, "position rows values_width"],
    heads: int,
) -> Float[Tensor, "rows values_width"]:
    """Each row attends to all positions of its own past, without a mask.

    Positions are the first axis, so that writing one and reordering rows move whole lines of memory, and the softmax
    along it takes sixteen rows at once. Along a last axis shorter than sixteen it takes number by number, and costs
    more than the products.
    """
    positions, rows = key.shape[:2]
    keys, values = key.view(positions, rows * heads, -1), value.view(positions, rows * heads, -1)
    if positions <= FEW_POSITIONS:
        scores = (keys * query.view(rows * heads, -1)).sum(-1)
        return (scores.softmax(0).unsqueeze(-1) * values).sum(0).view(rows, -1)
    scores = torch.bmm(query.view(rows * heads, 1, -1), keys.permute(1, 2, 0))
    weights = scores.view(rows * heads, positions).t().contiguous().softmax(0).t().contiguous()
    return torch.bmm(weights.unsqueeze(1), values.transpose(0, 1)).view(rows, -1)


def attend_in_order(
    query: Float[Tensor, "new queries_width"],
    key: Float[Tensor, "position queries_width"],
    value: Float[Tensor, "position values_width"],
    heads: int,
) -> Float[Tensor, "new values_width"]:
    """The last positions of one row attend to all before them and to themselves."""
    new, positions = query.shape[0], key.shape[0]
    queries, keys, values = (part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in (query, key, value))
    later = torch.ones(new, positions, dtype=torch.bool).triu(positions - new + 1)
    scores = torch.bmm(queries, keys.transpose(1, 2)).masked_fill(later, -torch.inf)
    return torch.bmm(scores.softmax(-1), values).transpose(0, 1).flatten(1)


def attend_to_memory(
    query: Float[Tensor, "rows queries_width"],
    key: Float[Tensor, "sentence head source width"],
    value: Float[Tensor, "sentence head source value_width"],
    bias: Float[Tensor, "sentence head 1 source"],
) -> tuple[Float[Tensor, "rows values_width"], Float[Tensor, "sentence head queries source"]]:
    """The output of attention, and its weights. The rows of a sentence attend together to its memory, which is held
    once, not once for each hypothesis. `bias` masks the padding.
    """
    sentences, heads = key.shape[:2]
    each = query.shape[0] // sentences
    split = query.view(sentences, each, heads, -1).transpose(1, 2).reshape(sentences * heads, each, -1)
    weights = torch.baddbmm(bias.flatten(0, 1), split, key.flatten(0, 1).transpose(1, 2)).softmax(-1)
    found = torch.bmm(weights, value.flatten(0, 1)).view(sentences, heads, each, -1)
    return found.transpose(1, 2).reshape(query.shape[0], -1), weights.view(sentences, heads, each, -1)
