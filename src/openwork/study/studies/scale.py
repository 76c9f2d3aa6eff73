"""Why scores are divided by sqrt(d_k): without it their variance is d_k, and the softmax stops learning.

Footnote 4 of the paper: for independent components of mean 0 and variance 1, q k = sum q_i k_i has mean 0 and variance
d_k. The softmax of scores far apart is nearly one and zeros, where its Jacobian, and so the gradient, is nearly zero.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.messages import msg
from openwork.inspection.plots import Chart, Figures, Series
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention_scores, softmax_over
from openwork.study.studies.study import Claim, Result
from openwork.study.studies.table import ScaleSettings

NEAR = 0.2  # how far a sample's variance may be from what is expected, as a share of it
SATURATED = 0.2  # below this share of the scaled scores' Jacobian


@dataclass(frozen=True)
class Attended:
    """Scores of one kind at one width.

    Args:
        variance: of the scores.
        largest: weight that a query gives to its favourite key, mean.
        entropy: of the weights, as a share of that of equal weights, mean.
        jacobian: Frobenius norm of the softmax Jacobian of a query's weights, median.
    """

    variance: float
    largest: float
    entropy: float
    jacobian: float


@dataclass(frozen=True)
class ScaleData:
    """The same queries and keys with plain and with scaled products, for each d_k."""

    widths: tuple[int, ...]
    plain: tuple[Attended, ...]
    scaled: tuple[Attended, ...]


def softmax_jacobian(weights: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows key other_key"]:
    """diag(a) - a a^T for each row a = softmax(s): how weight i changes with score j, a_i ([i = j] - a_j)."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def attend(query: Tensor, key: Tensor, scale: float) -> Attended:
    """What the scores of (batch, head, position, head_width) queries and keys are like."""
    scores = attention_scores(query, key, scale)
    weights = softmax_over(scores, None)
    entropy = torch.special.entr(weights).sum(dim=-1).mean() / torch.tensor(float(key.shape[-2])).log()
    jacobian = softmax_jacobian(weights).norm(dim=(-2, -1)).median()
    largest = weights.amax(dim=-1).mean()
    return Attended(scores.var(correction=0).item(), largest.item(), entropy.item(), jacobian.item())


def measure(sizes: ScaleSettings) -> ScaleData:
    """Normal queries and keys, attended to with scale 1 and with 1 / sqrt(d_k)."""
    generator = torch.Generator().manual_seed(sizes.seed)
    plain, scaled = [], []
    for width in sizes.widths:
        shape = (2, sizes.batch, 1, sizes.positions, width)
        query, key = sizes.deviation * torch.randn(shape, generator=generator, dtype=torch.float64)
        plain.append(attend(query, key, 1.0))
        scaled.append(attend(query, key, scale_of(width)))
    return ScaleData(sizes.widths, tuple(plain), tuple(scaled))


def run(sizes: ScaleSettings) -> Result:
    data = measure(sizes)
    by_width = list(zip(data.widths, data.plain, data.scaled, strict=True))
    claims = (
        Claim(
            "the variance of plain products is d_k",
            all(abs(plain.variance / width - 1) < NEAR for width, plain, _ in by_width),
        ),
        Claim(
            "divided by sqrt(d_k), the scores have variance 1 at each d_k",
            all(abs(scaled.variance - 1) < NEAR for scaled in data.scaled),
        ),
        Claim(
            f"at d_k = {sizes.widths[-1]} plain scores leave the softmax less than a fifth of its slope",
            data.plain[-1].jacobian < SATURATED * data.scaled[-1].jacobian,
        ),
    )
    forms = {"variance": ".2f", "largest": ".3f", "entropy": ".3f", "jacobian": ".2e"}
    table = Figures(
        "plain products, and each time beside them divided by sqrt(d_k)",
        (
            "d_k",
            *("variance", "scaled"),
            *("largest weight", "scaled"),
            *("entropy, share", "scaled"),
            *("norm of the Jacobian", "scaled"),
        ),
        [
            (f"{width}", *(f"{getattr(one, field):{form}}" for field, form in forms.items() for one in pair))
            for width, *pair in by_width
        ],
    )

    def lines(field: str) -> tuple[Series, ...]:
        plain, scaled = (
            [(float(width), getattr(one, field)) for width, one in zip(data.widths, measured, strict=True)]
            for measured in (data.plain, data.scaled)
        )
        return Series(msg("plain"), plain), Series(msg("scaled"), scaled)

    charts = (
        Chart("Variance of the scores", "d_k", "variance", lines("variance"), True, True),
        Chart("How far the softmax can still learn", "d_k", "norm of the Jacobian", lines("jacobian"), True, True),
    )
    return Result(data, claims, (table,), charts)
