"""Which pieces of the source a translation comes from, by several methods, and the curve that compares them.

Attention is not by itself an explanation of an output (Jain and Wallace 2019); whether a method says what the model
goes by is measured by taking away first what it calls important (`deletion.py`).

What is explained is f = ln p(piece | source, pieces before) of one target position, or the mean of all. A score is
positive where a source piece speaks for the translation. The methods:

    gradient-input          df/de . e, for the vector e of each source piece before positions are added
    integrated-gradients    the mean of df/de between the zero vectors and e, times e (Sundararajan et al. 2017,
                            equation 3), by the midpoint rule; the scores of all pieces add up to f(e) - f(0)
    occlusion               f - f with the piece replaced by the unknown symbol (Zeiler and Fergus 2014)
    value-zeroing           `value_zeroing.py`, for a Transformer
    attention-last          cross-attention, the mean of the last layer's heads
    attention-all           the same of all layers
    attention-rollout       the same of all layers, through the encoder (`flow.py`), for one with self-attention
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import SentenceAttention, attending_model
from openwork.inference.attention_maps.flow import through_layers
from openwork.inference.attention_maps.forced import Between, ForcedTranslation, go_on
from openwork.inference.attention_maps.maps import mean_of
from openwork.inference.attention_maps.value_zeroing import permits, value_zeroing

MOST_EXPLAINED = 128  # pieces on a side
STEPS = 64  # of integrated gradients
REPLACEMENT = SYMBOL_IDS.unknown  # what stands for a piece that is taken away
Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attributions:
    """The scores (source) of each method, and what they are of.

    Attributes:
        position: the target position that they explain; None: the mean of all.
        scores: of each source piece by each method, in nats for gradients and occlusion; the others are shares of 1.
        value: f, in nats, and `baseline` f with zero vectors: the scores of integrated gradients add up to their
            difference, but for the error of `STEPS` steps.
        left_out: why a method is missing, by its name.
    """

    position: int | None
    scores: Mapping[str, Scores]
    value: float
    baseline: float
    left_out: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        return {
            "position": self.position,
            "value": self.value,
            "baseline": self.baseline,
            "steps": STEPS,
            "methods": [{"method": name, "scores": scores.tolist()} for name, scores in self.scores.items()],
            "leftOut": dict(self.left_out),
        }


def attributions(
    bundle: Bundle, found: SentenceAttention, position: int | None = None, between: Between = go_on
) -> Attributions:
    """The scores of all methods that the model permits.

    A piece of the translation that no search can choose (the unknown symbol) is left out of the mean. IndexError for a
    position that the translation does not have.
    """
    forced = ForcedTranslation.of(attending_model(bundle), found.source_ids, found.output_ids, between)
    weights = position_weights(found, position)
    gradients, value, baseline = gradient_scores(forced, weights)
    cross = found.of_kind("cross")
    share: Scores = weights.cpu().numpy()
    scores: dict[str, Scores] = {
        **gradients,
        "occlusion": occlusion(forced, weights),
        "attention-last": share @ cross[-1].mean.astype(np.float64),
        "attention-all": share @ mean_of(cross).astype(np.float64),
    }
    left_out = {}
    through = through_layers(found, with_flow=False)
    if through is not None:
        scores["attention-rollout"] = share @ through.cross_rollout
    else:
        left_out["attention-rollout"] = msg("the encoder has no self-attention between pieces")
    if permits(forced.model):
        scores["value-zeroing"] = share @ value_zeroing(forced).numpy()
    else:
        left_out["value-zeroing"] = msg("the model has no value vector for each piece in every layer")
    return Attributions(position, scores, value, baseline, left_out)


def position_weights(found: SentenceAttention, position: int | None) -> Float[Tensor, "target"]:
    """How much each target position counts: one alone, or all that can be chosen alike; they add up to 1."""
    terms = torch.tensor([piece.log_probability for piece in found.target_pieces], dtype=torch.float64)
    if position is None:
        counted = terms.isfinite().double()
        return counted / counted.sum().clamp(min=1)
    chosen = torch.zeros_like(terms)
    chosen[position] = 1
    return chosen


def weighted(terms: Float[Tensor, "rows target"], weights: Float[Tensor, "target"]) -> Float[Tensor, "rows"]:
    """The weighted sum of log-probabilities; a position of weight 0 does not count, though its term be infinite."""
    counted = weights > 0
    return terms[:, counted].double() @ weights[counted].to(terms.device)


def gradient_scores(
    forced: ForcedTranslation, weights: Float[Tensor, "target"]
) -> tuple[dict[str, Scores], float, float]:
    """Those of gradient x input and of integrated gradients; f of the source, and of zero vectors."""
    with torch.no_grad():
        vectors = forced.model.source_embedding(forced.source[None]).detach()
    ends = torch.tensor([1.0, 0.0], device=vectors.device)
    at_source, values = _gradients(forced, vectors, weights, ends)
    midpoints = (torch.arange(STEPS, device=vectors.device) + 0.5) / STEPS
    along, _ = _gradients(forced, vectors, weights, midpoints)
    scores = {
        "gradient-input": _array((at_source[0] * vectors[0]).sum(-1)),
        "integrated-gradients": _array((along.mean(0) * vectors[0]).sum(-1)),
    }
    return scores, float(values[0]), float(values[1])


def _gradients(
    forced: ForcedTranslation, vectors: Tensor, weights: Tensor, shares: Float[Tensor, "steps"]
) -> tuple[Float[Tensor, "steps source width"], Float[Tensor, "steps"]]:
    """df/de at each share of the vectors (1, source, width), and f there."""
    found, values = [], []
    for part in shares.split(8):
        embedded = (part[:, None, None] * vectors).requires_grad_()
        with torch.enable_grad(), _unscaled(forced.model):
            terms = forced.terms(forced.source.expand(len(part), -1), embedded)
            value = weighted(terms, weights)
            (gradient,) = torch.autograd.grad(value.sum(), embedded)
        found.append(gradient)
        values.append(value.detach())
    return torch.cat(found), torch.cat(values)


@contextmanager
def _unscaled(model: Any) -> Iterator[None]:
    """While the block runs, gradients are derivatives: ConvS2S divides those of its encoder in training."""
    layers = getattr(model.encoder, "attending_layers", None)
    if layers is None:
        yield
        return
    model.encoder.attending_layers = 1
    try:
        yield
    finally:
        model.encoder.attending_layers = layers


def occlusion(forced: ForcedTranslation, weights: Float[Tensor, "target"]) -> Scores:
    """f - f without each piece, the end symbol too."""
    count = len(forced.source)
    rows = forced.source.expand(count + 1, -1).clone()
    rows[:count].fill_diagonal_(REPLACEMENT)
    values = weighted(forced.terms_of_many(rows), weights)
    return _array(values[count] - values[:count])


def _array(values: Tensor) -> Scores:
    return values.double().cpu().numpy()
