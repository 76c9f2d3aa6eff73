"""The cross-entropy of rows of logits and its gradient in their place.

A program has one row. It reads it three times, of which two are from the cache, so that nothing is added up across
threads within a pass.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

LOG2E = tl.constexpr(1.4426950408889634)
LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def cross_entropy(logits, right, sums, share, vocabulary, step, BLOCK: tl.constexpr):
    """The logits of a row become the gradient p - q; `sums` (row, 2) its smoothed loss and its likelihood.

    A row whose right token is negative is filling: its gradient and its sums are zero.
    """
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(right + row)
    logits += row * step
    highest = tl.full([BLOCK], -float("inf"), tl.float32)
    plain = tl.zeros([BLOCK], tl.float32)
    chosen = tl.zeros([BLOCK], tl.float32)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + columns, mask=columns < vocabulary, other=-float("inf")).to(tl.float32)
        highest = tl.maximum(highest, x)
        plain += tl.where(columns < vocabulary, x, 0.0)
        chosen += tl.where(columns == token, x, 0.0)
    most = tl.max(highest, 0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + columns, mask=columns < vocabulary, other=-float("inf")).to(tl.float32)
        total += tl.exp2((x - most) * LOG2E)
    normaliser = most + tl.log2(tl.sum(total, 0)) * LN2
    real = token >= 0
    likelihood = tl.where(real, normaliser - tl.sum(chosen, 0), 0.0)
    uniform = tl.where(real, normaliser - tl.sum(plain, 0) / vocabulary, 0.0)
    tl.store(sums + row * 2, (1 - share) * likelihood + share * uniform)
    tl.store(sums + row * 2 + 1, likelihood)
    counts = tl.where(real, 1.0, 0.0)
    even = share / vocabulary
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + columns, mask=columns < vocabulary, other=0.0).to(tl.float32)
        wanted = tl.where(columns == token, 1 - share, 0.0) + even
        slope = (tl.exp2((x - normaliser) * LOG2E) - wanted) * counts
        tl.store(logits + columns, slope.to(logits.dtype.element_ty), mask=columns < vocabulary)
