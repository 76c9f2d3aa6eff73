"""Which heads of the encoder connect words that belong together, held against chance.

For each pair of words the weight from the one to the other is compared with the mean weight from the same word to the
other words of its sentence: a head that spreads its weight evenly has no more for the pair than that. Voita et al. 2019
("Analyzing Multi-Head Self-Attention", section 5.2) count how often the largest weight goes to the related word.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import SentenceAttention, capture, no_attention
from openwork.inference.attention_maps.chosen import TITLES
from openwork.inference.attention_maps.relations import WordRelation
from openwork.inference.attention_maps.words import pieces_of
from openwork.metrics.estimates import holm

FLIPS = 9999  # of the signs of the differences, for a p of 0.0001 at least
SEED = 1


@dataclass(frozen=True)
class HeadOnRelation:
    """A head on all pairs of a relation; layer and head count from 0.

    Attributes:
        weight: from the one word to the other, the mean of all pairs.
        chance: to the other words of the sentence, the mean of them and of all pairs.
        most: share of pairs in which no other word has more.
        p: how often the mean difference from chance is as large when the signs of the pairs' differences are drawn;
            corrected for all heads and relations (Holm).
    """

    relation: str
    pairs: int
    layer: int
    head: int
    weight: float
    chance: float
    most: float
    p: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def survey(bundle: Bundle, relations: Sequence[WordRelation]) -> list[HeadOnRelation]:
    """Each head on each relation, the largest difference from chance first.

    Args:
        bundle: a translator whose encoder attends.
        relations: what to look for.

    UsageError for a model whose encoder does not attend, and for a sentence that is too long.
    """
    measured: dict[str, list[NDArray[np.float64]]] = {}
    captured: dict[str, SentenceAttention] = {}
    for relation in relations:
        if relation.sentence not in captured:
            captured[relation.sentence] = capture(bundle, relation.sentence)
        measured.setdefault(relation.name, []).append(_measured(captured[relation.sentence], relation))
    found = [one for name, of_pairs in measured.items() for one in _heads(name, np.stack(of_pairs))]
    adjusted = holm([one.p for one in found])
    corrected = [HeadOnRelation(**{**asdict(one), "p": p}) for one, p in zip(found, adjusted, strict=True)]
    return sorted(corrected, key=lambda one: one.chance - one.weight)


def _measured(found: SentenceAttention, relation: WordRelation) -> NDArray[np.float64]:
    """Of each head (layer, head, 3): the weight of the pair, the mean of other words, and whether none has more."""
    spans = [piece.place for piece in found.source_pieces]
    rows, columns = pieces_of(relation.source, spans), pieces_of(relation.target, spans)
    layers = found.of_kind("encoder")
    if not layers:
        raise no_attention(TITLES["encoder"], msg("this bundle was trained without it"))
    weights = np.stack([one.weights for one in layers]).astype(np.float64)[:, :, rows].mean(2)
    others = [pieces_of(word, spans) for word in relation.other_words]
    own = weights[..., columns].sum(-1)
    rest = np.stack([weights[..., places].sum(-1) for places in others])
    return np.stack([own, rest.mean(0), own >= rest.max(0)], axis=-1)


def _heads(name: str, measured: NDArray[np.float64]) -> list[HeadOnRelation]:
    """Each head on the pairs of a relation (pair, layer, head, 3), with p before correction."""
    pairs, layers, heads, _ = measured.shape
    differences = (measured[..., 0] - measured[..., 1]).reshape(pairs, -1)
    p = sign_flip_p(differences).reshape(layers, heads)
    means = measured.mean(0)
    return [
        HeadOnRelation(name, pairs, layer, head, weight, chance, most, float(p[layer, head]))
        for layer in range(layers)
        for head in range(heads)
        for weight, chance, most in [means[layer, head].tolist()]
    ]


def sign_flip_p(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each column (pair, column): how often a mean is so far from 0 when the signs of the differences are drawn.

    Fisher's randomisation test on paired differences; two-sided.
    """
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(FLIPS, len(differences)))
    drawn = abs(signs @ differences)
    beyond = (drawn >= abs(differences.sum(0)) - 1e-12).sum(0)
    return (beyond + 1.0) / (FLIPS + 1.0)
