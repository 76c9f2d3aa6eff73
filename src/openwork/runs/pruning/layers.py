"""Layers that a Transformer loses, one after another: each time the one without which the loss is lowest."""

import re
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from openwork.models.settings import TransformerSettings
from openwork.runs.pruning.units import check_fewer

Weights = Mapping[str, Tensor]
Loss = Callable[[TransformerSettings, Weights], float]


def with_layers(
    settings: TransformerSettings, weights: Weights, stack: str, count: int, loss: Loss
) -> tuple[TransformerSettings, dict[str, Tensor], list[int]]:
    """The model with so many layers in the `stack`, encoder or decoder; and the numbers (from 1) of those that stay.

    `loss` measures a model. UsageError for more layers than there are.
    """
    key = f"{stack}_layers"
    there: int = getattr(settings, key)
    check_fewer(f"--{stack}-layers", count, 1 if settings.layer_sharing else there)

    def of(kept: Sequence[int]) -> tuple[TransformerSettings, dict[str, Tensor]]:
        return settings.model_copy(update={key: len(kept)}), renumbered(weights, stack, kept)

    kept = list(range(there))
    while len(kept) > count:
        kept = min(([one for one in kept if one != gone] for gone in kept), key=lambda left: loss(*of(left)))
    return *of(kept), [place + 1 for place in kept]


def renumbered(weights: Weights, stack: str, kept: Sequence[int]) -> dict[str, Tensor]:
    """The weights with these layers of the stack alone, numbered anew."""
    pattern = re.compile(rf"{stack}\.layers\.(\d+)\.(.*)")
    places = {old: new for new, old in enumerate(kept)}
    found: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if (match := pattern.fullmatch(name)) is None:
            found[name] = weight
        elif (place := places.get(int(match[1]))) is not None:
            found[f"{stack}.layers.{place}.{match[2]}"] = weight
    return found
