"""The gradient before max(0, .), and its sum over the rows, in one pass over memory.

A program has some columns, and of the rows every so manyth block, which it adds up in order: the same numbers always
give the same sums. The sums over programs are the caller's.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def backward(
    gradient, made, found, sums, rows, gradient_step,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """`found` (row, width): `gradient`, whose rows are `gradient_step` apart, where `made` (row, width) is positive.

    `sums` (program, width): those of `found` over a program's rows.
    """
    program, programs = tl.program_id(1), tl.num_programs(1)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for first in range(program * ROWS, rows, programs * ROWS):
        numbers = (first + tl.arange(0, ROWS)).to(tl.int64)[:, None]
        inside = (numbers < rows) & (columns < WIDTH)[None, :]
        places = numbers * WIDTH + columns[None, :]
        slope = tl.load(gradient + numbers * gradient_step + columns[None, :], mask=inside, other=0.0)
        value = tl.load(made + places, mask=inside, other=0.0)
        slope = tl.where(value > 0, slope, 0.0)
        tl.store(found + places, slope, mask=inside)
        total += slope.to(tl.float32)
    tl.store(sums + program * WIDTH + columns, tl.sum(total, 0), mask=columns < WIDTH)
