"""The order of positions: an encoder without positions only permutes its output when its input is permuted.

f(P x) = P f(x) for every permutation P: each position is computed from the same set of vectors. So "cat chases dog" and
"dog chases cat" get the same vectors in another order, and what is pooled over them is the same. Positions, added or
inside attention, break this, and so does a causal mask.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from openwork.inspection.plots import Figures
from openwork.models.parts import Parts
from openwork.models.settings import TransformerSettings
from openwork.nn.embedding import initialise
from openwork.nn.kernels import fused
from openwork.nn.layers import Encoder
from openwork.nn.masks import CAUSAL, EVERYTHING
from openwork.study.studies.study import Claim, Result, Variant
from openwork.study.studies.table import OrderSettings

NONE = Variant("none", "no positions")
CAUSAL_ONLY = Variant("causal", "no positions, causal mask")
SINUSOIDAL = Variant("sinusoidal", "sinusoidal")
LEARNED = Variant("learned", "learned")
ROTARY = Variant("rotary", "rotary")
ALIBI = Variant("alibi", "ALiBi")
RELATIVE = Variant("relative", "relative")
KINDS = (NONE, CAUSAL_ONLY, SINUSOIDAL, LEARNED, ROTARY, ALIBI, RELATIVE)

ROUNDING, BROKEN = 1e-10, 1e-3  # differences that are rounding alone, and that are none


def build_reader(kind: Variant, sizes: OrderSettings) -> Callable[[Tensor], Tensor]:
    """Layers of the paper, with fresh weights, in float64: (batch, position, width) -> the same."""
    positions: Any = "none" if kind in (NONE, CAUSAL_ONLY) else kind.key
    settings = TransformerSettings(
        width=sizes.width,
        heads=4,
        encoder_layers=sizes.layers,
        feedforward_width=4 * sizes.width,
        dropout=0.0,
        positions=positions,
        maximum_length=sizes.positions if kind == LEARNED else None,
        relative_distance=2 if kind == RELATIVE else None,
    )
    parts = Parts(settings, fused.attention)
    added = parts.positions()
    encoder = Encoder([parts.encoder_layer(layer) for layer in range(sizes.layers)], parts.final_norm())
    for part in (added, encoder):
        initialise(part)
        part.double()
    return lambda x: encoder(added(x), CAUSAL if kind == CAUSAL_ONLY else EVERYTHING)


def difference(read: Callable[[Tensor], Tensor], x: Tensor, order: Tensor) -> float:
    """The largest number in f(P x) - P f(x)."""
    with torch.no_grad():
        return (read(x[:, order]) - read(x)[:, order]).abs().max().item()


@dataclass(frozen=True)
class OrderData:
    """For each kind of positions the largest number in f(P x) - P f(x).

    P puts the last position first (`shifted`), or reverses the order (`reversed`).
    """

    shifted: dict[str, float]
    reversed: dict[str, float]


def measure(sizes: OrderSettings) -> OrderData:
    """The same vectors in three orders, through an encoder for each kind of positions."""
    shifted, backwards = {}, {}
    with torch.random.fork_rng(devices=[]):
        for kind in KINDS:
            torch.manual_seed(sizes.seed)
            x = torch.randn(sizes.batch, sizes.positions, sizes.width, dtype=torch.float64)
            read, places = build_reader(kind, sizes), torch.arange(sizes.positions)
            shifted[kind.key] = difference(read, x, places.roll(1))
            backwards[kind.key] = difference(read, x, places.flip(0))
    return OrderData(shifted, backwards)


def run(sizes: OrderSettings) -> Result:
    data = measure(sizes)
    others = [value for key, value in data.shifted.items() if key != NONE.key]
    claims = (
        Claim(
            "without positions the output is permuted as the input is, and nothing else",
            max(data.shifted[NONE.key], data.reversed[NONE.key]) < ROUNDING,
        ),
        Claim("every kind of positions, and a causal mask alone, tells the orders apart", min(others) > BROKEN),
        Claim(
            "ALiBi in an encoder knows distances without direction: a reversed sentence is the same to it",
            data.reversed[ALIBI.key] < ROUNDING,
        ),
    )
    rows = [(kind.words, *(f"{found[kind.key]:.3g}" for found in (data.shifted, data.reversed))) for kind in KINDS]
    table = Figures("largest number in f(P x) - P f(x)", ("positions", "P: last one first", "P: reversed"), rows)
    return Result(data, claims, (table,), ())
