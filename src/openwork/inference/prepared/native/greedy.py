"""The greedy search of many sentences: greedy.cpp."""

import ctypes

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import GivenUp, check_normaliser
from openwork.inference.prepared.caches import Past, PreparedMemory
from openwork.inference.prepared.native.decoder import NativeDecoder
from openwork.inference.prepared.native.embeddings import TargetEmbeddings
from openwork.inference.prepared.native.structures import WritingFields, addresses


def greedy_targets(
    decoder: NativeDecoder,
    memory: PreparedMemory,
    past: Past,
    limits: Int[Tensor, "sentence"],
    added: Float[Tensor, "vocabulary"],
    embeddings: TargetEmbeddings,
    given_up: GivenUp,
) -> tuple[Int[Tensor, "sentence place"], Float[Tensor, "sentence"]]:
    """`greedy_targets` of models/interfaces.py.

    `past`: empty buffers with a row for each sentence. `added`: minus infinity for what may not come.
    """
    sentences = limits.shape[0]
    live, totals = torch.arange(sentences), torch.zeros(sentences)
    targets = torch.full((sentences, 1 + int(limits.max())), SYMBOL_IDS.pad)
    targets[:, 0] = SYMBOL_IDS.start
    limits, lengths = limits.contiguous(), memory.lengths.contiguous()
    memory_arrays = [addresses(tensors) for tensors in zip(*memory.layers, strict=True)]
    memory_keys, memory_values = map(ctypes.addressof, memory_arrays)
    fields = WritingFields(
        sentences=sentences, rows=sentences, source=memory.size, stride=targets.shape[1], end=SYMBOL_IDS.end,
        scale=embeddings.scale, table=embeddings.table.data_ptr(), live=live.data_ptr(), tokens=targets.data_ptr(),
        limits=limits.data_ptr(), totals=totals.data_ptr(), lengths=lengths.data_ptr(), memory_keys=memory_keys,
        memory_values=memory_values, added=added.data_ptr(),
    )  # fmt: skip
    places = None
    while fields.rows:
        past = past.with_room(fields.position)
        past_arrays = [addresses(tensors) for tensors in zip(*past.buffers, strict=True)]
        fields.past_keys, fields.past_values = map(ctypes.addressof, past_arrays)
        if places is None or fields.position == places.shape[0]:
            places = embeddings.places(fields.position, past.room)
        fields.places = None if places is None else places.data_ptr()
        decoder.write(fields)
        check_normaliser(fields.normaliser)
        past.written = fields.position
        if left := given_up():
            going_on = live[: fields.rows]
            gone = torch.isin(going_on, torch.tensor(sorted(left)))
            totals[going_on[gone]] = -torch.inf
            kept = going_on[~gone]
            fields.rows = len(kept)
            live[: fields.rows] = kept
    return targets, totals
