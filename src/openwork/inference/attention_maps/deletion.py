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
from openwork.inference.attention_maps.capture import SentenceAttention, attending_model
from openwork.inference.attention_maps.forced import Between, ForcedTranslation, go_on

SEEDS = 5  # of orders by chance
RANDOM = "random"


@dataclass(frozen=True, eq=False)
class DeletionCurve:
    """The log-probability (nats) of the translation when no, one, ... all pieces are gone, and the area under it.

    `order`: the source positions as they go; of "random", whose curve is the mean of `SEEDS` orders, none.
    """

    method: str
    order: tuple[int, ...]
    log_probabilities: NDArray[np.float64]

    @property
    def area(self) -> float:
        """By trapezoids over the share of pieces that are gone, from 0 to 1: the mean log-probability, in nats."""
        curve = self.log_probabilities
        return float((curve[1:] + curve[:-1]).mean() / 2) if len(curve) > 1 else float(curve[0])

    def to_json(self) -> dict[str, Any]:
        curve = self.log_probabilities.tolist()
        return {"method": self.method, "order": list(self.order), "logProbabilities": curve, "area": self.area}


@dataclass(frozen=True, eq=False)
class Reasons:
    """What explains a translation: the attributions of all its positions together, and a curve for each method."""

    attributions: Attributions
    curves: tuple[DeletionCurve, ...]

    def to_json(self) -> dict[str, Any]:
        """`deletion` by method, the random order last."""
        return {
            "attributions": self.attributions.to_json(),
            "deletion": {
                "replacement": "<unk>",
                "seeds": SEEDS,
                "curves": [curve.to_json() for curve in self.curves],
            },
        }


def reasons(bundle: Bundle, found: SentenceAttention, between: Between = go_on) -> Reasons:
    """The attributions of a captured sentence and their deletion curves."""
    whole = attributions(bundle, found, between=between)
    return Reasons(whole, tuple(deletion_curves(bundle, found, whole.scores, between)))


def deletion_curves(
    bundle: Bundle, found: SentenceAttention, scores: Mapping[str, Scores], between: Between = go_on
) -> list[DeletionCurve]:
    """The curve of each method's order, the highest score first, and at the end that of orders by chance."""
    forced = ForcedTranslation.of(attending_model(bundle), found.source_ids, found.output_ids, between)
    places = [place for place, piece in enumerate(found.source_pieces) if not piece.is_special]
    orders = {name: sorted(places, key=lambda place: -one[place]) for name, one in scores.items()}
    by_chance = [np.random.default_rng(seed).permutation(places).tolist() for seed in range(SEEDS)]
    curves = _curves(forced, [*orders.values(), *by_chance], position_weights(found, None))
    own = [
        DeletionCurve(name, tuple(order), curve) for (name, order), curve in zip(orders.items(), curves, strict=False)
    ]
    return [*own, DeletionCurve(RANDOM, (), np.mean(curves[len(own) :], axis=0))]


def _curves(
    forced: ForcedTranslation, orders: Sequence[Sequence[int]], weights: torch.Tensor
) -> list[NDArray[np.float64]]:
    """The log-probability after each deletion; what several orders have taken away alike is calculated once."""
    gone = [[frozenset(order[:count]) for count in range(len(order) + 1)] for order in orders]
    different = list(dict.fromkeys(one for order in gone for one in order))
    rows = forced.source.repeat(len(different), 1)
    for row, places in enumerate(different):
        rows[row, list(places)] = REPLACEMENT
    counted = int((weights > 0).sum())
    values = (weighted(forced.terms_of_many(rows), weights) * counted).cpu().tolist()
    value_of = dict(zip(different, values, strict=True))
    return [np.array([value_of[one] for one in order]) for order in gone]
