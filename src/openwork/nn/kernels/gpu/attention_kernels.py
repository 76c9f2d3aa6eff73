"""Attention of short sentences that are packed into one row: a program for each sentence and head.

A kernel for long sequences computes tiles of 128 queries, of which a sentence of 27 tokens fills a fifth. Here a tile
is as long as the sentences of a batch are, up to 64 tokens; longer sentences take several tiles. A program does all
tiles of its sentence, so that nothing is added up across programs and the same numbers always give the same sums.

With S = scale Q K^T, A = softmax(S), H = A V, and dX for the gradient of a loss by X:

    dV = A^T dH,  dA = dH V^T,  dS = A * (dA - rowsum(dH * H)),  dQ = scale dS K,  dK = scale dS^T Q

A kernel is compiled for each length of a tile, which takes a second; all else is an argument.

Logarithms and exponentials are those of base 2, which the processor has instructions for.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _tile(base, first, size, step, start, BLOCK: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Rows from `start` on of a sentence of `size` tokens that begins at row `first`; zeros after its end."""
    rows, columns = start + tl.arange(0, BLOCK), tl.arange(0, PADDED)
    inside = (rows < size)[:, None] & (columns < WIDTH)[None, :]
    places = (first + rows).to(tl.int64)[:, None] * step + columns[None, :]
    return tl.load(base + places, mask=inside, other=0.0)


@triton.jit
def _put(base, values, first, size, step, start, BLOCK: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Writes what `_tile` reads."""
    rows, columns = start + tl.arange(0, BLOCK), tl.arange(0, PADDED)
    inside = (rows < size)[:, None] & (columns < WIDTH)[None, :]
    places = (first + rows).to(tl.int64)[:, None] * step + columns[None, :]
    tl.store(base + places, values.to(base.dtype.element_ty), mask=inside)


@triton.jit
def _allowed(query_start, key_start, keys, is_causal, BLOCK: tl.constexpr):
    """Which keys each query of a tile may attend to."""
    queries, columns = query_start + tl.arange(0, BLOCK), key_start + tl.arange(0, BLOCK)
    return (columns < keys)[None, :] & ((columns[None, :] <= queries[:, None]) | (is_causal == 0))


@triton.jit(do_not_specialize=["is_causal"])
def forward(
    query, key, value, output, normaliser, query_starts, key_starts, scale,
    query_step, query_head, key_step, key_head, value_step, value_head, heads, is_causal,
    BLOCK: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    """`output` (position, head, width) and `normaliser` (position, head): log2 of the sum of exponentials."""
    sentence, head = tl.program_id(0), tl.program_id(1)
    first, key_first = tl.load(query_starts + sentence), tl.load(key_starts + sentence)
    queries = tl.load(query_starts + sentence + 1) - first
    keys = tl.load(key_starts + sentence + 1) - key_first
    query, key, value = query + head * query_head, key + head * key_head, value + head * value_head
    output += head * WIDTH
    for start in range(0, queries, BLOCK):
        q = _tile(query, first, queries, query_step, start, BLOCK, WIDTH, PADDED)
        most = tl.full([BLOCK], -float("inf"), tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        found = tl.zeros([BLOCK, PADDED], tl.float32)
        last = tl.where(is_causal != 0, tl.minimum(keys, start + BLOCK), keys)
        for key_start in range(0, last, BLOCK):
            k = _tile(key, key_first, keys, key_step, key_start, BLOCK, WIDTH, PADDED)
            v = _tile(value, key_first, keys, value_step, key_start, BLOCK, WIDTH, PADDED)
            scores = tl.dot(q, tl.trans(k)) * (scale * LOG2E)
            scores = tl.where(_allowed(start, key_start, keys, is_causal, BLOCK), scores, -float("inf"))
            higher = tl.maximum(most, tl.max(scores, 1))  # the first tile has an allowed key for each query
            weights = tl.exp2(scores - higher[:, None])
            fading = tl.exp2(most - higher)
            total = total * fading + tl.sum(weights, 1)
            found = found * fading[:, None] + tl.dot(weights.to(v.dtype), v)
            most = higher
        divisor = tl.where(total > 0, total, 1.0)
        _put(output, found / divisor[:, None], first, queries, heads * WIDTH, start, BLOCK, WIDTH, PADDED)
        rows = start + tl.arange(0, BLOCK)
        tl.store(normaliser + (first + rows) * heads + head, most + tl.log2(divisor), mask=rows < queries)


@triton.jit
def _slopes(q, k, v, gradient, normaliser, row_sums, allowed, scale):
    """A, and the gradient of the scores before they were scaled, for a tile of queries and one of keys."""
    scores = tl.dot(q, tl.trans(k)) * (scale * LOG2E)
    weights = tl.where(allowed, tl.exp2(scores - normaliser[:, None]), 0.0)
    by_weights = tl.dot(gradient, tl.trans(v))
    return weights, weights * (by_weights - row_sums[:, None]) * scale


@triton.jit(do_not_specialize=["is_causal"])
def backward(
    query, key, value, output, normaliser, gradient, by_query, by_key, by_value, query_starts, key_starts, scale,
    query_step, query_head, key_step, key_head, value_step, value_head, gradient_step, gradient_head, pair_step, heads,
    is_causal, SINGLE: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    """The gradients by queries (position, head, width), and by keys and values, likewise but `pair_step` apart.

    SINGLE: a tile holds any sentence.
    """
    sentence, head = tl.program_id(0), tl.program_id(1)
    first, key_first = tl.load(query_starts + sentence), tl.load(key_starts + sentence)
    queries = tl.load(query_starts + sentence + 1) - first
    keys = tl.load(key_starts + sentence + 1) - key_first
    query, key, value = query + head * query_head, key + head * key_head, value + head * value_head
    output, gradient, normaliser = output + head * WIDTH, gradient + head * gradient_head, normaliser + head
    by_query, by_key, by_value = by_query + head * WIDTH, by_key + head * WIDTH, by_value + head * WIDTH
    step = heads * WIDTH
    for key_start in range(0, keys, BLOCK):
        k = _tile(key, key_first, keys, key_step, key_start, BLOCK, WIDTH, PADDED)
        v = _tile(value, key_first, keys, value_step, key_start, BLOCK, WIDTH, PADDED)
        key_sum = tl.zeros([BLOCK, PADDED], tl.float32)
        value_sum = tl.zeros([BLOCK, PADDED], tl.float32)
        begin = tl.where(is_causal != 0, key_start, 0)
        for start in range(begin, queries, BLOCK):
            q = _tile(query, first, queries, query_step, start, BLOCK, WIDTH, PADDED)
            g = _tile(gradient, first, queries, gradient_step, start, BLOCK, WIDTH, PADDED)
            h = _tile(output, first, queries, step, start, BLOCK, WIDTH, PADDED)
            rows = start + tl.arange(0, BLOCK)
            z = tl.load(normaliser + (first + rows) * heads, mask=rows < queries, other=0.0)
            row_sums = tl.sum(g.to(tl.float32) * h.to(tl.float32), 1)
            allowed = _allowed(start, key_start, keys, is_causal, BLOCK)
            weights, slopes = _slopes(q, k, v, g, z, row_sums, allowed, scale)
            value_sum += tl.dot(tl.trans(weights.to(g.dtype)), g)
            key_sum += tl.dot(tl.trans(slopes.to(q.dtype)), q)
            if SINGLE:
                found = tl.dot(slopes.to(k.dtype), k)
                _put(by_query, found, first, queries, step, start, BLOCK, WIDTH, PADDED)
        _put(by_key, key_sum, key_first, keys, pair_step, key_start, BLOCK, WIDTH, PADDED)
        _put(by_value, value_sum, key_first, keys, pair_step, key_start, BLOCK, WIDTH, PADDED)
    if (not SINGLE) or keys == 0:
        for start in range(0, queries, BLOCK):
            q = _tile(query, first, queries, query_step, start, BLOCK, WIDTH, PADDED)
            g = _tile(gradient, first, queries, gradient_step, start, BLOCK, WIDTH, PADDED)
            h = _tile(output, first, queries, step, start, BLOCK, WIDTH, PADDED)
            rows = start + tl.arange(0, BLOCK)
            z = tl.load(normaliser + (first + rows) * heads, mask=rows < queries, other=0.0)
            row_sums = tl.sum(g.to(tl.float32) * h.to(tl.float32), 1)
            found = tl.zeros([BLOCK, PADDED], tl.float32)
            last = tl.where(is_causal != 0, tl.minimum(keys, start + BLOCK), keys)
            for key_start in range(0, last, BLOCK):
                k = _tile(key, key_first, keys, key_step, key_start, BLOCK, WIDTH, PADDED)
                v = _tile(value, key_first, keys, value_step, key_start, BLOCK, WIDTH, PADDED)
                allowed = _allowed(start, key_start, keys, is_causal, BLOCK)
                _, slopes = _slopes(q, k, v, g, z, row_sums, allowed, scale)
                found += tl.dot(slopes.to(k.dtype), k)
            _put(by_query, found, first, queries, step, start, BLOCK, WIDTH, PADDED)
