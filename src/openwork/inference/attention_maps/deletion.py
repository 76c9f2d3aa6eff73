"""The deletion curve: how fast the translation becomes improbable when the most important source pieces go first.

Samek et al. 2017 ("Evaluating the Visualization of What a Deep Neural Network Has Learned", section 3) take away parts
of a picture in the order of their scores. Here pieces of the source are replaced by the unknown symbol, all but the end
symbol, and the log-probability of the whole translation is calculated again after each. The smaller the area under the
curve, the better the order names what this translation comes from. An order by chance is there to compare with.

The unknown symbol has an id in every vocabulary; where rare characters become bytes, training never shows it, so that
its vector says nothing that was learnt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.attribution import (
    REPLACEMENT,
    Attributions,
    Scores,
    attributions,
    position_weights,
    weighted,
)
from openwork.inference.attention_maps.capture import AttentionCapture, SentenceAttention
from openwork.inference.attention_maps.forced import ForcedTranslation

SEEDS = 5  # of orders by chance
POINTS = 32  # of a curve, besides its beginning; of a longer source several pieces go at a time
RANDOM = "random"


@dataclass(frozen=True, eq=False)
class DeletionCurve:
    """The log-probability (nats) of the translation when so many pieces are gone, from none to all.

    `order`: the source positions as they go; of "random", whose curve is the mean of `SEEDS` orders, none.
    """

    method: str
    order: tuple[int, ...]
    removed: tuple[int, ...]
    log_probabilities: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Under the curve, over the share of pieces that are gone: the mean log-probability, in nats (trapezoids)."""
        if len(self.removed) == 1:
            return float(self.log_probabilities[0])
        shares = np.array(self.removed) / self.removed[-1]
        return float(np.trapezoid(self.log_probabilities, shares))

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "order": list(self.order),
            "removed": list(self.removed),
            "logProbabilities": self.log_probabilities.tolist(),
            "area": self.area,
        }


@dataclass(frozen=True, eq=False)
class Reasons:
    """What explains a translation: the attributions of all its positions together, one curve for each, and by chance.

    `of_position`: those of one position, where one was asked for.
    """

    attributions: Attributions
    curves: tuple[DeletionCurve, ...]
    of_position: Attributions | None = None

    def to_json(self) -> dict[str, Any]:
        """`deletion` by method, the random order last."""
        one = self.of_position
        return {
            "attributions": self.attributions.to_json(),
            "positionAttributions": None if one is None else one.to_json(),
            "deletion": {
                "replacement": "<unk>",
                "seeds": SEEDS,
                "curves": [curve.to_json() for curve in self.curves],
            },
        }


def reasons(bundle: Bundle, found: SentenceAttention, position: int | None = None) -> Reasons:
    """The attributions of a captured sentence and their deletion curves. OpenworkError: no such target position."""
    one = None if position is None else attributions(bundle, found, position)
    whole = attributions(bundle, found)
    return Reasons(whole, tuple(deletion_curves(bundle, found, whole.scores)), one)


def deletion_curves(bundle: Bundle, found: SentenceAttention, scores: Mapping[str, Scores]) -> list[DeletionCurve]:
    """The curve of each method's order, the highest score first, and at the end that of orders by chance."""
    forced = ForcedTranslation.of(AttentionCapture(bundle).model, found.source_ids, found.output_ids)
    places = [place for place, piece in enumerate(found.source_pieces) if piece.span is not None]
    orders = {name: sorted(places, key=lambda place: -one[place]) for name, one in scores.items()}
    by_chance = [np.random.default_rng(seed).permutation(places).tolist() for seed in range(SEEDS)]
    removed = tuple(np.unique(np.rint(np.linspace(0, len(places), POINTS + 1)).astype(int)).tolist())
    curves = _curves(forced, [*orders.values(), *by_chance], removed, position_weights(found, None))
    of_methods = zip(orders.items(), curves, strict=False)
    own = [DeletionCurve(name, tuple(order), removed, curve) for (name, order), curve in of_methods]
    return [*own, DeletionCurve(RANDOM, (), removed, np.mean(curves[len(own) :], axis=0))]


def _curves(
    forced: ForcedTranslation, orders: Sequence[Sequence[int]], removed: Sequence[int], weights: torch.Tensor
) -> list[NDArray[np.float64]]:
    """The log-probabilities for each order; what several have taken away alike is calculated once."""
    gone = [[frozenset(order[:count]) for count in removed] for order in orders]
    different = list(dict.fromkeys(one for order in gone for one in order))
    rows = forced.source.repeat(len(different), 1)
    for row, places in enumerate(different):
        rows[row, list(places)] = REPLACEMENT
    counted = int((weights > 0).sum())
    values = (weighted(forced.terms_of_many(rows), weights) * counted).cpu().tolist()
    value_of = dict(zip(different, values, strict=True))
    return [np.array([value_of[one] for one in order]) for order in gone]
