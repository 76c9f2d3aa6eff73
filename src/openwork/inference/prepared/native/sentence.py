"""The search of one sentence with one call for each step: sentence.cpp."""

import ctypes
from collections.abc import Sequence
from ctypes import c_float, c_int64

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.inference.prepared.caches import Past, PreparedMemory
from openwork.inference.prepared.native.decoder import NativeDecoder
from openwork.inference.prepared.native.embeddings import TargetEmbeddings
from openwork.inference.prepared.native.structures import ContinuingFields, addresses


class NativeContinuations:
    """`Continuations` of models/interfaces.py.

    `past`: empty buffers with a row for each hypothesis there may be.
    """

    def __init__(
        self,
        decoder: NativeDecoder,
        memory: PreparedMemory,
        past: Past,
        count: int,
        added: Float[Tensor, "vocabulary"],
        embeddings: TargetEmbeddings,
    ) -> None:
        self._decoder, self._memory, self._past, self._kept = decoder, memory, past, added
        self._embeddings = embeddings
        rows = past.rows
        self._count = count = min(count, decoder.outputs)
        self._tokens, self._parents = (c_int64 * rows)(), (c_int64 * rows)()
        self._values, self._normalisers = (c_float * rows)(), (c_float * rows)()
        self._sums, self._ids = (c_float * (rows * count))(), (c_int64 * (rows * count))()
        self._memory_arrays = [addresses(tensors) for tensors in zip(*memory.layers, strict=True)]
        memory_keys, memory_values = map(ctypes.addressof, self._memory_arrays)
        self._fields = ContinuingFields(
            past_rows=rows, source=memory.size, count=count, scale=embeddings.scale,
            table=embeddings.table.data_ptr(), lengths=memory.lengths.data_ptr(), memory_keys=memory_keys,
            memory_values=memory_values, added=added.data_ptr(),
        )  # fmt: skip
        for name, array in (
            ("tokens", self._tokens), ("parents", self._parents), ("values", self._values), ("sums", self._sums),
            ("ids", self._ids), ("normaliser", self._normalisers),
        ):  # fmt: skip
            setattr(self._fields, name, ctypes.addressof(array))
        self._make_room(past)

    def _make_room(self, past: Past) -> None:
        """Takes over buffers with room for more positions."""
        positions, rows, _ = past.buffers[0][0].shape
        places = torch.empty(positions * rows, dtype=torch.int64)
        if past is not self._past:
            written = self._fields.position * rows
            places[:written] = self._places[:written]
        self._past, self._places, self._room = past, places, positions
        self._past_arrays = [addresses(tensors) for tensors in zip(*past.buffers, strict=True)]
        self._fields.past_row = places.data_ptr()
        self._added = self._embeddings.places(self._fields.position, positions)
        if self._added is not None:
            self._fields.places = self._added.data_ptr()
        self._fields.past_keys, self._fields.past_values = map(ctypes.addressof, self._past_arrays)

    def extend(
        self, tokens: Sequence[int], parents: Sequence[int], values: Sequence[float]
    ) -> tuple[list[float], list[int], list[float]]:
        rows, fields = len(tokens), self._fields
        if fields.position == self._room:
            self._make_room(self._past.select(None, fields.position))
        if self._added is not None and fields.position == self._added.shape[0]:
            self._embeddings.places(fields.position, fields.position + 1)  # says that there are no more
        self._tokens[:rows], self._parents[:rows], self._values[:rows] = tokens, parents, values
        fields.rows = rows
        self._decoder.extend(fields)
        fields.rows_before = rows
        fields.position += 1
        found = rows * self._count
        return self._sums[:found], self._ids[:found], self._normalisers[:rows]
