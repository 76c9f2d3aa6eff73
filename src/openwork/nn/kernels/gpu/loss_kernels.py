"""The cross-entropy of rows of logits and its gradient in their place.

A program has one row, which it reads twice: for the sum of exponentials, and for the gradient.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

LOG2E = tl.constexpr(1.4426950408889634)
LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def cross_entropy(logits, right, sums, share, groups, row_groups, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """The logits of a row become the gradient p - q; `sums` (row, 2) its smoothed loss and its likelihood.

    A row is `groups` times EACH logits, and begins `row_groups` times EACH after the one before it: so the compiler
    knows which are side by side. A row whose right token is negative is filling: its gradient and its sums are zero.
    """
    row = tl.program_id(0).to(tl.int64)
    vocabulary = groups * EACH
    token = tl.load(right + row)
    logits += row * row_groups * EACH
    real = token >= 0
    chosen = tl.load(logits + tl.where(real, token, 0)).to(tl.float32)  # before it is overwritten
    # one maximum and one sum for each place of a block: that of the row follows
    highest = tl.full([BLOCK], -1e30, tl.float32)  # finite: the difference of two infinities is no number
    totals = tl.zeros([BLOCK], tl.float32)
    plain = tl.zeros([BLOCK], tl.float32)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < vocabulary
        x = tl.load(logits + columns, mask=inside, other=-float("inf")).to(tl.float32)
        difference = (x - highest) * LOG2E
        smaller = tl.exp2(-tl.abs(difference))  # the one of both sums with the smaller maximum counts so much less
        totals = tl.where(difference > 0, totals * smaller + 1, totals + smaller)
        highest = tl.maximum(highest, x)
        plain += tl.where(inside, x, 0.0)
    most = tl.max(highest, 0)
    normaliser = most + tl.log2(tl.sum(totals * tl.exp2((highest - most) * LOG2E), 0)) * LN2
    likelihood = tl.where(real, normaliser - chosen, 0.0)
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
