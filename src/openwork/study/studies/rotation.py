"""PE(pos + k) as a rotation of PE(pos): one matrix for each k, the same at every position.

sin((pos + k) w) = cos(k w) sin(pos w) + sin(k w) cos(pos w), and the cosine likewise, so each pair of PE(pos) turns by
k w. The sines and cosines of R(k) are those of PE(k) itself. It takes width / 2 such pairs, one for each frequency.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.messages import msg
from openwork.inspection.plots import Series
from openwork.nn.positions import exact_sinusoids
from openwork.study.studies.study import Chart, Claim, Result, figures
from openwork.study.studies.table import RotationSettings

ROUNDING, REFUTED = 1e-10, 1e-2


def rotation(row: Float[Tensor, "width"]) -> Float[Tensor, "width other_width"]:
    """R(k) from PE(k), for even widths: for each frequency the block [[cos, sin], [-sin, cos]] of the angle k w."""
    blocks = [torch.stack((torch.stack((c, s)), torch.stack((-s, c)))) for s, c in row.unflatten(0, (-1, 2))]
    return torch.block_diag(*blocks)


def rotation_error(table: Float[Tensor, "position width"], positions: int, offset: int) -> float:
    """The largest number in PE(pos + k) - R(k) PE(pos), over the first positions."""
    turned = table[:positions] @ rotation(table[offset]).T
    return (table[offset : offset + positions] - turned).abs().max().item()


def best_matrix_error(table: Float[Tensor, "position width"], positions: int, offset: int) -> float:
    """The same with whatever matrix fits best (least squares) in the place of R(k)."""
    now, later = table[:positions], table[offset : offset + positions]
    matrix = torch.linalg.lstsq(now, later, driver="gelsd").solution  # the sinusoids' columns may be dependent
    return (later - now @ matrix).abs().max().item()


@dataclass(frozen=True)
class RotationData:
    """For each offset the error of R(k) for the sinusoids, and of the best matrix there is for a random table.

    `products` are PE(pos) PE(pos + k) by k at the first position, and `spread` how much they differ between positions.
    """

    offsets: tuple[int, ...]
    rotation_errors: tuple[float, ...]
    random_errors: tuple[float, ...]
    products: tuple[float, ...]
    spread: float


def measure(sizes: RotationSettings) -> RotationData:
    """The paper's sinusoids, and a table of normal numbers in their place."""
    generator = torch.Generator().manual_seed(sizes.seed)
    count = sizes.positions + max(sizes.offsets)
    table = exact_sinusoids(count, sizes.width)
    normal = torch.randn(table.shape, generator=generator, dtype=table.dtype)
    reach = max(sizes.offsets) + 1
    products = torch.stack([table[first : first + reach] @ table[first] for first in range(sizes.positions)])
    return RotationData(
        sizes.offsets,
        tuple(rotation_error(table, sizes.positions, offset) for offset in sizes.offsets),
        tuple(best_matrix_error(normal, sizes.positions, offset) for offset in sizes.offsets),
        tuple(products[0].tolist()),
        (products - products[0]).abs().max().item(),
    )


def run(sizes: RotationSettings) -> Result:
    """The figures, and what is claimed of them."""
    data = measure(sizes)
    claims = (
        Claim(
            "one matrix R(k) takes every PE(pos) to PE(pos + k), but for rounding", max(data.rotation_errors) < ROUNDING
        ),
        Claim("the product of two positions' vectors depends on their distance alone", data.spread < ROUNDING),
        Claim("for random vectors no such matrix exists", min(data.random_errors) > REFUTED),
    )
    measured = zip(data.offsets, data.rotation_errors, data.random_errors, strict=True)
    rows = [(f"{offset}", f"{ours:.2e}", f"{other:.2e}") for offset, ours, other in measured]
    table = figures("largest error at any position", ("k", "sinusoids, R(k)", "random vectors, best matrix"), rows)
    lines = (Series(msg("sinusoids"), list(enumerate(data.products))),)
    chart = Chart("PE(pos) · PE(pos + k), the same at every pos", "k", "product", lines)
    return Result(data, claims, (table,), (chart,))
