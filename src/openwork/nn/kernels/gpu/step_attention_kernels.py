"""Attention of one new position of each row to what it has read and to its source, in buffers of fixed sizes.

A kernel for sequences fills tiles of 64 queries, of which a step has one, and reads a mask as wide as the buffers. Here
a program reads no more keys than there are: it gets the number of them from the device's memory, so that a captured
graph serves any step of any batch.

Logarithms and exponentials are those of base 2, which the processor has instructions for.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def step_to_past(
    made, keys, values, output, ancestors, position, row_step, heads, beam, capacity,
    ALONE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A program for each row and head: stores the new key and value, and attends to those that the row has read.

    `made` (row, 3 x head x width): queries, keys and values, a row `row_step` numbers after the one before it. `keys`
    and `values` (sentence, head, beam, capacity, width). `ancestors` (row, capacity): in which place of the beam the
    row finds a position; with ALONE there is one place and it is not read. `position`: how many have been read.
    """
    row, head = tl.program_id(0), tl.program_id(1)
    columns, read = tl.arange(0, WIDTH), tl.load(position).to(tl.int32)
    here = made + row.to(tl.int64) * row_step + head * WIDTH + columns
    query = tl.load(here).to(tl.float32)
    key, value = tl.load(here + heads * WIDTH), tl.load(here + 2 * heads * WIDTH)
    sentence, place = row // beam, row % beam
    first = (sentence.to(tl.int64) * heads + head) * beam  # of the places of this sentence and head
    own = ((first + place) * capacity + read) * WIDTH + columns
    tl.store(keys + own, key)
    tl.store(values + own, value)
    # its own key, which no other row reads at this step, is in registers
    most = tl.sum(query * key.to(tl.float32), 0) * LOG2E
    total = tl.full([], 1.0, tl.float32)
    found = value.to(tl.float32)
    for start in range(0, read, BLOCK):
        steps = start + tl.arange(0, BLOCK)
        inside = steps < read
        if ALONE:
            places = tl.zeros([BLOCK], tl.int64)
        else:
            places = tl.load(ancestors + row.to(tl.int64) * capacity + steps, mask=inside, other=0).to(tl.int64)
        offsets = (((first + places) * capacity + steps) * WIDTH)[:, None] + columns[None, :]
        k = tl.load(keys + offsets, mask=inside[:, None], other=0.0).to(tl.float32)
        v = tl.load(values + offsets, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(k * query[None, :], 1) * LOG2E, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 0))
        weights, fading = tl.exp2(scores - higher), tl.exp2(most - higher)
        total = total * fading + tl.sum(weights, 0)
        found = found * fading + tl.sum(weights[:, None] * v, 0)
        most = higher
    there = output + (row.to(tl.int64) * heads + head) * WIDTH + columns
    tl.store(there, (found / total).to(output.dtype.element_ty))


@triton.jit
def step_to_source(
    query, keys, values, output, lengths, row_step, heads, beam, source,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A program for each sentence and head, whose beam is one: attends to the first `lengths` keys, at least one.

    `query` (row, head x width), a row `row_step` numbers after the one before it. `keys` and `values` (sentence, head,
    source, width).
    """
    sentence, head = tl.program_id(0), tl.program_id(1)
    columns, size = tl.arange(0, WIDTH), tl.load(lengths + sentence).to(tl.int32)
    q = tl.load(query + sentence.to(tl.int64) * row_step + head * WIDTH + columns).to(tl.float32)
    first = (sentence.to(tl.int64) * heads + head) * source
    most = tl.full([], -1e30, tl.float32)  # finite: the difference of two infinities is no number
    total = tl.full([], 0.0, tl.float32)
    found = tl.zeros([WIDTH], tl.float32)
    for start in range(0, size, BLOCK):
        steps = start + tl.arange(0, BLOCK)
        inside = steps < size
        offsets = ((first + steps) * WIDTH)[:, None] + columns[None, :]
        k = tl.load(keys + offsets, mask=inside[:, None], other=0.0).to(tl.float32)
        v = tl.load(values + offsets, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(k * q[None, :], 1) * LOG2E, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 0))
        weights, fading = tl.exp2(scores - higher), tl.exp2(most - higher)
        total = total * fading + tl.sum(weights, 0)
        found = found * fading + tl.sum(weights[:, None] * v, 0)
        most = higher
    there = output + (sentence.to(tl.int64) * heads + head) * WIDTH + columns
    tl.store(there, (found / total).to(output.dtype.element_ty))


@triton.jit
def beam_to_source(
    query, keys, values, output, lengths, row_step, heads, beam, source,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """As `step_to_source` for a beam of at most ROWS: its queries attend together, so that keys are read once."""
    sentence, head = tl.program_id(0), tl.program_id(1)
    places, columns, size = tl.arange(0, ROWS), tl.arange(0, WIDTH), tl.load(lengths + sentence).to(tl.int32)
    rows, real = sentence.to(tl.int64) * beam + places, (places < beam)[:, None]
    q = tl.load(query + (rows * row_step)[:, None] + head * WIDTH + columns[None, :], mask=real, other=0.0)
    first = (sentence.to(tl.int64) * heads + head) * source
    most = tl.full([ROWS], -1e30, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    found = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, size, BLOCK):
        steps = start + tl.arange(0, BLOCK)
        inside = steps < size
        offsets = ((first + steps) * WIDTH)[:, None] + columns[None, :]
        k = tl.load(keys + offsets, mask=inside[:, None], other=0.0)
        v = tl.load(values + offsets, mask=inside[:, None], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(q, tl.trans(k)) * LOG2E, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        weights, fading = tl.exp2(scores - higher[:, None]), tl.exp2(most - higher)
        total = total * fading + tl.sum(weights, 1)
        found = found * fading[:, None] + tl.dot(weights.to(v.dtype), v)
        most = higher
    there = output + ((rows * heads + head) * WIDTH)[:, None] + columns[None, :]
    tl.store(there, (found / total[:, None]).to(output.dtype.element_ty), mask=real)
