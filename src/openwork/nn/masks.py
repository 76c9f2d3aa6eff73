"""Attention masks: which keys each query may attend to. True always means *may attend*; no other file makes masks.

Callers describe a mask (`Mask`); a kernel uses the description (a fast path) or its booleans. Masks of long texts leave
most pairs out by a pattern (`nn/patterns.py`).
"""

from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from openwork.nn.patterns import Pattern
from openwork.nn.shapes import Lengths


def real(lengths: Lengths, size: int) -> Bool[Tensor, "batch position"]:
    """True for the positions that are no padding: position j of sentence b where j < lengths[b]."""
    positions = torch.arange(size, device=lengths.device)
    return positions < lengths[:, None]


def padding(lengths: Lengths, size: int) -> Bool[Tensor, "batch 1 1 key"]:
    """True for the keys that are real."""
    return real(lengths, size)[:, None, None, :]


def padding_before(starts: Lengths, size: int) -> Bool[Tensor, "batch 1 1 key"]:
    """True for the keys that are real where padding is on the left: position j of row b where j >= starts[b]."""
    positions = torch.arange(size, device=starts.device)
    return (positions >= starts[:, None])[:, None, None, :]


def causal(query_size: int, key_size: int, device: torch.device | None = None) -> Bool[Tensor, "1 1 query key"]:
    """True where a key is not later than the query (section 3.2.3 of the paper).

    The last query is at the last key, so with a cache of earlier keys, query i may see the keys up to
    i + (key_size - query_size).
    """
    queries = torch.arange(query_size, device=device)[:, None] + (key_size - query_size)
    keys = torch.arange(key_size, device=device)[None, :]
    return (keys <= queries)[None, None]


@dataclass(frozen=True)
class Segments:
    """Sentences one after another in one row, with no padding between them.

    `starts` (sentence + 1), int32: where each sentence begins, and the end of the last; an empty sentence begins where
    the next one does. `places` (position): each token's position in its own sentence. `maximum_length`: of any
    sentence.
    """

    starts: Tensor
    places: Tensor
    maximum_length: int

    @property
    def numbers(self) -> Int[Tensor, "position"]:
        """Which sentence each token belongs to."""
        positions = torch.arange(self.places.shape[0], device=self.starts.device)
        return torch.bucketize(positions, self.starts, right=True) - 1


@dataclass(frozen=True)
class Mask:
    """A description of who may attend: all of its conditions together.

    `key_lengths` (batch): each sentence's real keys come first, the rest is padding; None: no padding.
    `key_starts` (batch): each row's real keys come last, those before are padding; None: no padding on the left.
    `is_causal`: no query attends to a later key.
    `allowed`: further booleans, broadcastable to (batch, head, query, key); None: no such condition.
    `segments`: those of the queries' row and of the keys', as many on both sides; a query sees only the keys of the
    sentence with its own number. None: a row is a sentence.
    `pattern`: which pairs of a row's real positions there are, of self-attention; None: all.
    """

    key_lengths: Tensor | None = None
    is_causal: bool = False
    allowed: Tensor | None = None
    segments: tuple[Segments, Segments] | None = None
    key_starts: Tensor | None = None
    pattern: Pattern | None = None

    @property
    def is_only_causal(self) -> bool:
        """Whether the order is the one condition, so that a kernel needs no booleans."""
        return self.is_causal and all(
            other is None for other in (self.key_lengths, self.allowed, self.segments, self.key_starts, self.pattern)
        )

    def boolean(self, query_size: int, key_size: int, device: torch.device) -> Tensor | None:
        """The mask as booleans, broadcastable to (batch, head, query, key); None when all may attend."""
        conditions = [self.allowed]
        if self.key_lengths is not None:
            conditions.append(padding(self.key_lengths, key_size))
        if self.key_starts is not None:
            conditions.append(padding_before(self.key_starts, key_size))
        if self.segments is not None:
            queries, keys = (segments.numbers for segments in self.segments)
            conditions.append((queries[:, None] == keys[None, :])[None, None])
        if self.is_causal and query_size > 1:  # one query is the last one: nothing is later than it
            conditions.append(causal(query_size, key_size, device))
        if self.pattern is not None:
            keys = self.places(key_size, device)
            queries = keys[:, key_size - query_size :]
            conditions.append(self.pattern.boolean(queries, keys, self.counts(key_size, device), self.is_causal))
        given = [condition for condition in conditions if condition is not None]
        return reduce(torch.Tensor.__and__, given) if given else None

    def places(self, size: int, device: torch.device) -> Int[Tensor, "#batch key"]:
        """The position of each column in its sentence; negative for padding on the left."""
        columns = torch.arange(size, device=device)[None]
        return columns if self.key_starts is None else columns - self.key_starts[:, None]

    def counts(self, size: int, device: torch.device) -> Int[Tensor, "#batch"]:
        """The real positions of each row of `size` columns."""
        if self.key_lengths is not None:
            return self.key_lengths
        whole = torch.full((1,), size, device=device)
        return whole if self.key_starts is None else whole - self.key_starts

    def pairs(self, queries: Int[Tensor, "... query 1"], keys: Int[Tensor, "... key"]) -> Tensor | None:
        """Padding and order as booleans for some columns, broadcastable to (batch, head, query, key)."""
        conditions = []
        if self.key_lengths is not None:
            conditions.append(keys < self.key_lengths[:, None, None, None])
        if self.key_starts is not None:
            conditions.append(keys >= self.key_starts[:, None, None, None])
        if self.is_causal:
            conditions.append((keys <= queries)[None, None])
        return reduce(torch.Tensor.__and__, conditions) if conditions else None


EVERYTHING = Mask()
CAUSAL = Mask(is_causal=True)
