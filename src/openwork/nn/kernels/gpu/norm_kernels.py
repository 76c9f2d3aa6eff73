"""Layer normalisation of a sum, forwards and backwards: each number is read and written once.

With s = x + m added, n = (s - mean) / sqrt(variance + epsilon), y = gain n + shift, and dX for the gradient by X:

    g = gain dy,  ds = (g - mean(g) - n mean(g n)) / sqrt(variance + epsilon)
    dx = ds,  d added = m ds,  d gain = sum of dy n,  d shift = sum of dy

m is 1, or a mask of dropout: 0 with the probability `rate`, else 1 / (1 - rate). It is not kept: backwards the same
numbers are drawn again, by Philox (Salmon et al. 2011), 16 bits for each.

The sums over rows are made in two steps, of which the second is the caller's: a program adds up its own rows in order,
so that the same numbers always give the same sums.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def _tile(base, first, rows, ROWS: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Some rows in float32, with the places and which of them are inside."""
    numbers, columns = first + tl.arange(0, ROWS), tl.arange(0, PADDED)
    inside = (numbers < rows)[:, None] & (columns < WIDTH)[None, :]
    places = numbers.to(tl.int64)[:, None] * WIDTH + columns[None, :]
    return tl.load(base + places, mask=inside, other=0.0).to(tl.float32), places, inside


@triton.jit
def _mask(seed, first, threshold, ROWS: tl.constexpr, PADDED: tl.constexpr):
    """The masks of some rows; of 65,536 numbers those below `threshold` are dropped."""
    numbers, groups = first + tl.arange(0, ROWS), tl.arange(0, PADDED // 8)
    a, b, c, d = tl.randint4x(tl.load(seed), numbers[:, None] * (PADDED // 8) + groups[None, :], 7)
    words = tl.interleave(tl.interleave(a, b), tl.interleave(c, d)).to(tl.uint32, bitcast=True)
    halves = tl.interleave(words & 0xFFFF, words >> 16)
    return tl.where(halves >= threshold, 65536.0 / (65536 - threshold), 0.0)


@triton.jit
def forward(
    x, added, gain, shift, output, means, scales, seed, rows, epsilon, threshold,
    IS_SUM: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    """`output` (row, width), `means` (row) and `scales` (row), 1 / sqrt(variance + epsilon)."""
    first = tl.program_id(0) * ROWS
    columns, numbers = tl.arange(0, PADDED), first + tl.arange(0, ROWS)
    s, places, inside = _tile(x, first, rows, ROWS, WIDTH, PADDED)
    if IS_SUM:
        more, _, _ = _tile(added, first, rows, ROWS, WIDTH, PADDED)
        if DROPS:
            more *= _mask(seed, first, threshold, ROWS, PADDED)
        s += more
    mean = tl.sum(s, 1) / WIDTH
    centred = tl.where(inside, s - mean[:, None], 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 1) / WIDTH + epsilon)
    factor = tl.load(gain + columns, mask=columns < WIDTH, other=0.0)
    offset = tl.load(shift + columns, mask=columns < WIDTH, other=0.0)
    made = centred * scale[:, None] * factor[None, :] + offset[None, :]
    tl.store(output + places, made.to(output.dtype.element_ty), mask=inside)
    tl.store(means + numbers, mean, mask=numbers < rows)
    tl.store(scales + numbers, scale, mask=numbers < rows)


@triton.jit
def backward(
    gradient, x, added, gain, means, scales, seed, by_sum, by_added, by_gain, by_shift, rows, threshold,
    IS_SUM: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    """`by_sum` (row, width), with DROPS also `by_added`, and the sums `by_gain` and `by_shift` (program, width)."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.arange(0, PADDED)
    factor = tl.load(gain + columns, mask=columns < WIDTH, other=0.0)
    gain_sums = tl.zeros([ROWS, PADDED], tl.float32)
    shift_sums = tl.zeros([ROWS, PADDED], tl.float32)
    for first in range(program * ROWS, rows, programs * ROWS):
        numbers = first + tl.arange(0, ROWS)
        dy, places, inside = _tile(gradient, first, rows, ROWS, WIDTH, PADDED)
        s, _, _ = _tile(x, first, rows, ROWS, WIDTH, PADDED)
        mask = _mask(seed, first, threshold, ROWS, PADDED) if DROPS else 1.0
        if IS_SUM:
            more, _, _ = _tile(added, first, rows, ROWS, WIDTH, PADDED)
            s += more * mask
        mean = tl.load(means + numbers, mask=numbers < rows, other=0.0)
        scale = tl.load(scales + numbers, mask=numbers < rows, other=0.0)
        normalised = tl.where(inside, (s - mean[:, None]) * scale[:, None], 0.0)
        g = dy * factor[None, :]
        along = tl.sum(g * normalised, 1) / WIDTH
        found = (g - (tl.sum(g, 1) / WIDTH)[:, None] - normalised * along[:, None]) * scale[:, None]
        tl.store(by_sum + places, found.to(by_sum.dtype.element_ty), mask=inside)
        if DROPS:
            tl.store(by_added + places, (found * mask).to(by_added.dtype.element_ty), mask=inside)
        gain_sums += dy * normalised
        shift_sums += dy
    here = program * WIDTH + columns
    tl.store(by_gain + here, tl.sum(gain_sums, 0), mask=columns < WIDTH)
    tl.store(by_shift + here, tl.sum(shift_sums, 0), mask=columns < WIDTH)
