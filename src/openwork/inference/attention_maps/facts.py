"""What each head does, in numbers: how spread its weights are, how far it looks, and how often at a neighbour."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from openwork.inference.attention_maps.maps import Kind, LayerMap

OFFSETS = (-1, 0, 1)


@dataclass(frozen=True)
class HeadFacts:
    """One head of an attention (Voita et al. 2019, "Analyzing Multi-Head Self-Attention", section 4, has such kinds).

    Attributes:
        kind: of the attention; `layer` and `head` count from 0.
        entropy: of a row, in nats, the mean of all rows; ln(keys) where all keys have the same weight.
        distance: |key - query| in positions, weighted by the attention, the mean of all rows.
        before: the mean weight of the key at offset -1 from its query, of queries that have one there; in a
            cross-attention the source position one less than the target position. 0 where no query has one.
        same: the same at offset 0; `after` at offset +1.
        largest: the largest weight of all.
    """

    kind: Kind
    layer: int
    head: int
    entropy: float
    distance: float
    before: float
    same: float
    after: float
    largest: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def head_facts(maps: Iterable[LayerMap]) -> list[HeadFacts]:
    """Those of all heads, in the order of the maps."""
    return [
        HeadFacts(one.kind, one.layer, head, *_facts(weights.astype(np.float64)))
        for one in maps
        for head, weights in enumerate(one.weights)
    ]


def _facts(weights: Float[np.ndarray, "query key"]) -> tuple[float, ...]:
    entropies = -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(1)
    queries, keys = np.indices(weights.shape)
    distances = (weights * abs(keys - queries)).sum(1)
    diagonals = [np.diagonal(weights, offset) for offset in OFFSETS]
    near = [float(diagonal.mean()) if diagonal.size else 0.0 for diagonal in diagonals]
    return float(entropies.mean()), float(distances.mean()), *near, float(weights.max())
